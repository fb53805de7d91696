// The platform file through the node: checked and planned as on the command line. What a file may read there, { env }
// and { file }, is refused here: a caller far away has no business in this machine's environment and folders.

import { NodeError } from '../../errors.ts'
import { actorOf } from '../actor.ts'
import type { PlatformHandler, PlatformHandlers } from '../platform/handler.ts'
import { requireAllowed, requireNoPasswords } from './change-rules.ts'

const FILE_NAME = 'platform.yaml'

const applyPlatformFile: PlatformHandler<'applyPlatformFile'> = async (context, call) => {
  // Loaded at first need: the rules and the file's parser are as much as the rest of the server.
  const { applyPlatform } = await import('../../platform/apply.ts')
  const { readKnown } = await import('../../platform/edit.ts')
  const { readPlatformText } = await import('../../platform/read.ts')
  const { store, seal, roots, audit } = context
  const { file, prune = false } = call.body
  const dryRun = call.input.dryRun === 'true'
  const known = await readKnown(store.db, prune)
  try {
    const { platform, warnings } = readPlatformText(file, FILE_NAME, { env: undefined, roots, known })
    const applied = await applyPlatform(store, seal, platform, {
      prune,
      dryRun,
      // An export for a caller without contactChannels has none.
      keepPeople: true,
      now: context.now(),
      forbidFirst: ({ accounts }) => requireNoPasswords(call.user, accounts, platform.users ?? []),
      forbid: (present, plan) =>
        requireAllowed({ user: call.user, fileRoots: roots.fileRoots }, present, plan),
      audit: { trail: audit, actor: actorOf(call), note: 'a file through the console' },
    })
    if (!dryRun && applied.lines.length > 0) context.wake({ kind: 'due' })
    return { ...applied, warnings }
  } catch (thrown) {
    // A wrong file is wrong use on the command line; here it is a request that cannot be done.
    if (thrown instanceof NodeError && thrown.code === 'bad_use')
      throw new NodeError('bad_request', thrown.message, { cause: thrown })
    throw thrown
  }
}

const exportPlatformFile: PlatformHandler<'exportPlatformFile'> = async (context, call) => {
  const { exportPlatform } = await import('../../platform/export.ts')
  const secrets = call.input.secrets === 'true'
  const file = await exportPlatform(context.store.db, context.seal, {
    secrets,
    withoutPeople: !call.user.auths.contactChannels,
    hidesHash: ({ role }) => role === 'ROLE_GLOBALADMIN' && call.user.role !== 'ROLE_GLOBALADMIN',
  })
  await context.store.write((tx) =>
    context.audit.add(tx, actorOf(call), [{ action: 'PLATFORM_EXPORTED', facts: { secrets } }]),
  )
  return call.reply
    .type('application/yaml; charset=utf-8')
    .header('Content-Disposition', `attachment; filename="${FILE_NAME}"`)
    .send(file)
}

export const fileHandlers = { applyPlatformFile, exportPlatformFile } satisfies Partial<PlatformHandlers>
