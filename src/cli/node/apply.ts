// `esclusa apply FILE`: prints what is added, changed and removed.

import { applyPlatform } from '../../platform/apply.ts'
import { readKnown } from '../../platform/edit.ts'
import { readPlatform } from '../../platform/read.ts'
import { remark, say } from '../print.ts'
import { withPlatform } from './with-platform.ts'

export async function apply(file: string, options: { dryRun?: boolean; prune?: boolean }): Promise<void> {
  await withPlatform(
    async ({ config, store, seal, audit, actor }) => {
      const known = await readKnown(store.db, options.prune ?? false)
      const { platform, warnings } = readPlatform(file, { env: process.env, roots: config, known })
      for (const warning of warnings) remark(`warning: ${warning}`)
      const { lines, added, changed, removed } = await applyPlatform(store, seal, platform, {
        ...options,
        now: Date.now(),
        audit: { trail: audit, actor, note: `the file ${file}` },
      })
      for (const line of lines) say(line)
      const what = `${added} added, ${changed} changed, ${removed} removed`
      if (lines.length === 0) say('nothing to change')
      else say(options.dryRun ? `would be: ${what} (dry run: nothing was changed)` : what)
    },
    { makes: true, dryRun: options.dryRun },
  )
}
