// The tabs of a browser share the session's cookie. When one signs in or out, the others hear of it and look.

const channel = new BroadcastChannel('esclusa-session')

export function tellOtherTabs(): void {
  channel.postMessage('changed')
}

/** Returns how to stop. */
export function whenTold(look: () => void): () => void {
  channel.addEventListener('message', look)
  return () => channel.removeEventListener('message', look)
}
