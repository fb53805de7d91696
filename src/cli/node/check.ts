// `esclusa check FILE`: says what is wrong with a platform file, without a database.

import { readConfig } from '../../config.ts'
import { readPlatform } from '../../platform/read.ts'
import { remark, say } from '../print.ts'

export function check(file: string): void {
  const { platform, warnings } = readPlatform(file, {
    env: process.env,
    roots: readConfig(process.env),
    checkOnly: true,
  })
  for (const warning of warnings) remark(`warning: ${warning}`)
  const { localEntities = [], users = [], contacts = [], channels = [] } = platform
  const counts = [
    amount(localEntities, 'local entity', 'local entities'),
    amount(users, 'user', 'users'),
    amount(contacts, 'contact', 'contacts'),
    amount(channels, 'channel', 'channels'),
  ]
  say(`${file} is right: ${counts.join(', ')}`)
}

function amount(list: readonly unknown[], one: string, many: string): string {
  return `${list.length} ${list.length === 1 ? one : many}`
}
