// Work with the other end of a connection, and no longer than it may take: what the other end or a library does, or does
// not do, leaves nobody waiting.

/** As the work ends, or with the signal's reason, whichever is first. The work itself is ended by whoever began it. */
export async function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const stop = () => reject(signal.reason as Error)
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
