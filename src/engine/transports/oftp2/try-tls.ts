// The certificate that a partner shows on a TLS line, and whether it is the one that a call would take. Nothing is said
// on the line.
import type { X509Certificate } from 'node:crypto'
import { connect } from 'node:tls'
import type { Oftp2Settings } from '../../../contract/contact-settings.ts'
import { NodeError } from '../../../errors.ts'
import type { Call } from '../transport.ts'
import { connectError, keptCertificate, refusalOf, tlsOptions } from './connect.ts'

export type SeenCertificate = {
  certificate: X509Certificate
  /** It is the very one that is kept for the partner. */
  pinned: boolean
  /** Why a call would not take it, as the end of a sentence about it. */
  refusal: string | undefined
}

export function seeCertificate(call: Call<Oftp2Settings>): Promise<SeenCertificate> {
  const { host, port, signal, timeouts } = call
  const peer = `${host}:${port}`
  const { promise, resolve, reject } = Promise.withResolvers<SeenCertificate>()
  // Looked at whatever it is: what a call would say of it is told with it.
  const socket = connect({ host, port, ...tlsOptions(call) })
  const fail = (error: NodeError) => reject(error)
  const timer = setTimeout(
    () => fail(new NodeError('timed_out', `no TLS with ${peer} in time`)),
    timeouts.connectMs,
  )
  const stop = () => fail(new NodeError('cancelled', 'the test was stopped'))
  signal.addEventListener('abort', stop, { once: true })
  socket.on('error', (thrown) => fail(connectError(thrown, peer)))
  socket.once('secureConnect', () => {
    const certificate = socket.getPeerX509Certificate()
    if (!certificate) return fail(new NodeError('login_refused', `${peer} shows no certificate`))
    const kept = keptCertificate(call)
    resolve({
      certificate,
      pinned: kept !== undefined && kept.raw.equals(certificate.raw),
      refusal: refusalOf(socket, call),
    })
  })
  return promise.finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
    socket.destroy()
  })
}
