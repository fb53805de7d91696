// A file made ready to leave: its pre-script, its checks, and its wire form on disk where that is not the file itself.
// What an earlier attempt left is used again only if the channel still wants that form.

import { lstat, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import type { TransferFileRecord } from '../../domain/transfer.ts'
import { fromFileError } from '../../errors.ts'
import { exists } from '../../files/place.ts'
import { fileRootsOf } from '../../domain/file-roots.ts'
import { requireConfined } from '../../files/roots.ts'
import type { Directory } from '../../contract/channel.ts'
import type { Emission } from './emission.ts'
import { record } from './file-record.ts'
import { FileSource, piecesOf } from '../staging/file-source.ts'
import { certificateOf } from './own-certificate.ts'
import { runStep } from '../actions/script-steps.ts'
import { drainSteps, stage } from '../staging/staging.ts'
import { hasGz, hasRoomForGz } from '../staging/gz-name.ts'
import { once } from '../transforms/step.ts'
import { formId, outgoingForm, settleOptional, startsLikeLzw } from '../staging/wire-form.ts'
import type { WireForm } from '../staging/wire-form.ts'

/** The form in which the file travels; `file` is STAGED afterwards. */
export async function prepareFile(
  emission: Emission,
  file: TransferFileRecord,
  directory: Directory,
): Promise<WireForm> {
  const { codePage, policy } = emission.context
  const about = { ...emission, directory, codePage, policy }
  const form = outgoingForm(about)
  const id = () => formId(about)
  // Whatever has become of the form since. Run again, the script would work on what it has made.
  const isScripted = file.phase === 'STAGED'
  const restored = await restoredForm(emission, file, form, id)
  return restored ?? prepare(emission, file, { form, id, isScripted })
}

/**
 * The form that an earlier attempt left, if the channel still wants that form. A retry runs under the configuration of
 * today: it must not send in clear what a failed transfer staged in clear. The name of the staged file tells its form.
 */
async function restoredForm(
  { plan, capabilities, context }: Emission,
  file: TransferFileRecord,
  form: WireForm,
  id: () => string,
): Promise<WireForm | undefined> {
  if (file.phase !== 'STAGED' || file.content === 'CERTIFICATE') return undefined
  const { stagedPath } = file
  const fits =
    stagedPath === null
      ? isPlain(form)
      : basename(stagedPath).split('.')[1] === id() && (await exists(stagedPath))
  if (fits)
    return settleOptional(
      form,
      { plan, capabilities, policy: context.policy },
      stagedPath?.endsWith('.z') ?? false,
    )
  Object.assign(file, { phase: 'WAITING', ...NOTHING_SENT, stagedPath: null, hash: null })
  return undefined
}

/**
 * A form that is made anew has not been sent. An earlier one may have arrived: that stays noted, with its hash, so that the
 * file is looked for before it is sent again.
 */
const NOTHING_SENT = { position: 0 }

/** The file itself is what travels. */
export function isPlain(form: WireForm): boolean {
  return form.steps.length === 0 && !form.optional
}

/** Pre-script, checks, and the wire form on disk where it is not the file itself. */
async function prepare(
  emission: Emission,
  file: TransferFileRecord,
  { form, id, isScripted }: { form: WireForm; id: () => string; isScripted: boolean },
): Promise<WireForm> {
  const { context, plan, signal } = emission
  if (file.content === 'CERTIFICATE') return prepareCertificate(emission, file, form, id)
  requireConfined(file.path, fileRootsOf(context.roots.fileRoots, plan.localRoots))
  const before = plan.channel.integrations?.preEmisionFile
  if (!before && !form.check && isPlain(form)) {
    // Nothing to do here. The sender opens the file, and checks that it has not changed.
    file.phase = 'STAGED'
    return form
  }
  if (before && !isScripted) await runBeforeSending(emission, before, file)
  await using source = await FileSource.open(file.path, {
    size: file.size ?? 0,
    modifiedAt: file.modifiedAt ?? 0,
  })
  if (form.check) await drainSteps(piecesOf(source, signal), [form.check])
  if (isPlain(form)) {
    if (form.check) await source.requireUnchanged()
    // Not worth a write: if a script has run, that is recorded.
    file.phase = 'STAGED'
    return form
  }
  const path = await stagedName(emission, file, id)
  const settled = form.optional ? await smallestForm(emission, source, form, path, file.name) : form
  const stagedPath =
    settled !== form && settled.steps.includes(form.optional ?? neverStep) ? `${path}.z` : path
  await stage(piecesOf(source, signal), settled.steps, stagedPath)
  await record(emission, file, { phase: 'STAGED', ...NOTHING_SENT, hash: await source.finish(), stagedPath })
  return settled
}

/**
 * The script may change the file: what it leaves is what is sent, and from then on that must not change. Before it runs,
 * the file must still be the one that was picked up. That it has run is recorded at once: a script that adds a trailer must
 * not add another one because the form could not be written.
 */
async function runBeforeSending(emission: Emission, script: string, file: TransferFileRecord): Promise<void> {
  const pickedUp = { size: file.size ?? 0, modifiedAt: file.modifiedAt ?? 0 }
  await (await FileSource.open(file.path, pickedUp))[Symbol.asyncDispose]()
  await runStep(emission, 'preEmision', script, file)
  const { size, mtimeMs } = await lstat(file.path).catch((thrown: unknown) => {
    throw fromFileError(thrown, file.path)
  })
  const modifiedAt = Math.floor(mtimeMs)
  const isChanged = size !== file.size || modifiedAt !== file.modifiedAt
  await record(emission, file, { phase: 'STAGED', ...(isChanged && { size, modifiedAt, ...NOTHING_SENT }) })
}

const neverStep: NonNullable<WireForm['optional']> = (source) => source

/** VARIABLE: the optional layer is tried on a scratch copy and used only if the result is smaller. */
async function smallestForm(
  emission: Emission,
  source: FileSource,
  form: WireForm,
  path: string,
  name: string,
): Promise<WireForm> {
  const scratch = `${path}.try`
  try {
    const plain = await stage(piecesOf(source, emission.signal), form.steps, scratch)
    const looksPacked = !emission.capabilities.envelopes && (hasGz(name) || (await startsLikeLzw(scratch)))
    const packed = await stage(
      piecesOf(source, emission.signal),
      [...form.steps, form.optional ?? neverStep],
      scratch,
    )
    // A file that looks packed must be packed once more: the other end unpacks whatever looks packed.
    const { policy } = emission.context
    const fits = emission.capabilities.envelopes || hasRoomForGz(name)
    return settleOptional(form, { ...emission, policy }, looksPacked || (packed < plain && fits))
  } finally {
    await rm(scratch, { force: true })
  }
}

/** A name for this claim alone: a node that lost the transfer may still be writing under its own name. */
async function stagedName(
  { context, transfer, held }: Emission,
  file: TransferFileRecord,
  id: () => string,
): Promise<string> {
  // Removes what earlier claims left: a file that is cut off again and again must not fill the disk.
  if (held.fence > 1) await context.staging.dropOutgoing(transfer.id, `${file.index}-`)
  return context.staging.outgoing(transfer.id, `${file.index}-${held.fence}.${id()}`)
}

async function prepareCertificate(
  emission: Emission,
  file: TransferFileRecord,
  form: WireForm,
  id: () => string,
): Promise<WireForm> {
  const bytes = Buffer.from(certificateOf(emission.plan), 'utf8')
  const path = await stagedName(emission, file, id)
  await stage(once(bytes), [], path)
  await record(emission, file, { phase: 'STAGED', stagedPath: path, size: bytes.length })
  return {
    ...form,
    steps: [],
    optional: undefined,
    envelope: undefined,
    suffix: '',
    format: { kind: 'U', recordLength: 0 },
  }
}
