// Runs an integration script at its point in a transfer: what it is told, and its output kept with the transfer.

import type { TransferRecord } from '../../domain/transfer.ts'
import { addOutput } from '../../store/transfers/leases.ts'
import { OUTPUT_LIMIT, ScriptError, runScript } from './scripts.ts'
import type { EngineContext } from '../engine-context.ts'

export type ScriptStep = 'preEmision' | 'postEmision' | 'preReception' | 'postReception' | 'exception'

type About = {
  context: EngineContext
  transfer: Pick<TransferRecord, 'id' | 'channelCode' | 'direction' | 'type'>
  signal: AbortSignal
}
type AboutFile = { name: string; path: string; size: number | null; hash: string | null }

/** Arguments: the file (for `exception` the error), the transfer, the channel. ESCLUSA_ variables say the same and more. */
export async function runStep(
  about: About,
  step: ScriptStep,
  path: string,
  file?: AboutFile,
  error?: string,
): Promise<void> {
  const { context, transfer, signal } = about
  const keep = (text: string) =>
    text === ''
      ? undefined
      : context.store.write((tx) => addOutput(tx, transfer.id, `[${step}] ${text}\n`, OUTPUT_LIMIT))
  try {
    const output = await runScript({
      path,
      scriptRoots: context.roots.scriptRoots,
      args: [file?.path ?? error ?? '', transfer.id, transfer.channelCode],
      variables: variablesOf(step, transfer, file, error),
      timeoutMs: context.scriptMs,
      signal,
    })
    await keep(output)
  } catch (thrown) {
    if (thrown instanceof ScriptError) await keep(thrown.output)
    throw thrown
  }
}

function variablesOf(
  step: ScriptStep,
  transfer: About['transfer'],
  file?: AboutFile,
  error?: string,
): Record<string, string> {
  return {
    ESCLUSA_STEP: step,
    ESCLUSA_CHANNEL: transfer.channelCode,
    ESCLUSA_TRANSFER: transfer.id,
    ESCLUSA_DIRECTION: transfer.direction,
    ESCLUSA_TYPE: transfer.type,
    ...(file && {
      ESCLUSA_FILE: file.path,
      ESCLUSA_FILE_NAME: file.name,
      ESCLUSA_FILE_SIZE: String(file.size ?? ''),
      ESCLUSA_FILE_HASH: file.hash === null ? '' : `sha256:${file.hash}`,
    }),
    ...(error !== undefined && { ESCLUSA_ERROR: error }),
  }
}
