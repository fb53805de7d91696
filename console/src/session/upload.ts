// Sends a file to the node. `fetch` does not say how far it has come, so this one request is made the older way.

import { ClientError } from '../../../sdk/index.ts'
import type { ErrorBody } from '../../../sdk/index.ts'
import { BASE_PATH } from '../../../src/contract/operations.ts'
import { platformOperations } from '../../../src/contract/platform.ts'
import type { PlatformOutputOf } from '../../../src/contract/platform.ts'
import { consoleHeaders } from './console-client.ts'

const { method, path, consumes } = platformOperations.uploadFile

type Target = { username: string; channelCode: string }
type Watching = { signal: AbortSignal; moved(octets: number): void }
type Uploaded = PlatformOutputOf<'uploadFile'>

/** Rejects with what the node says, or with the signal's reason when it was cancelled. */
export function uploadFile(
  { username, channelCode }: Target,
  file: File,
  { signal, moved }: Watching,
): Promise<Uploaded> {
  const url = path
    .replace('{channelCode}', encodeURIComponent(channelCode))
    .replace('{fileName}', encodeURIComponent(file.name))
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open(method, BASE_PATH + url)
    request.setRequestHeader('Content-Type', consumes)
    for (const [name, value] of Object.entries(consoleHeaders(username)))
      request.setRequestHeader(name, value)
    request.upload.addEventListener('progress', ({ loaded }) => moved(loaded))
    request.addEventListener('load', () => {
      const body = parsed(request.responseText)
      if (request.status === 200) resolve(body as Uploaded)
      else reject(new ClientError(isErrorBody(body) ? body : foreignBody(request)))
    })
    request.addEventListener('error', () => reject(new Error('the connection broke')))
    request.addEventListener('abort', () => reject(signal.reason as Error))
    signal.addEventListener('abort', () => request.abort())
    request.send(file)
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A proxy on the way has answered: the whole address says that it was not the node. */
function foreignBody({ status, statusText, responseURL }: XMLHttpRequest): ErrorBody {
  const timestamp = new Date().toISOString()
  return { timestamp, status, error: statusText, message: statusText, path: responseURL }
}

function isErrorBody(body: unknown): body is ErrorBody {
  return typeof body === 'object' && body !== null && 'message' in body && 'status' in body
}
