// A channel of the store as the file has it.

import type { PlatformChannel } from '../contract/administration/platform-file.ts'
import { openChannel } from '../store/channels.ts'
import type { ChannelRecord } from '../store/channels.ts'
import type { Seal } from '../store/seal.ts'

/** `application`, `localEntity` and `remoteEntity` are left out: they are in the code. */
export function toPlatformChannel(record: ChannelRecord, seal: Seal | undefined): PlatformChannel {
  const {
    application: _application,
    localEntity: _local,
    remoteEntity: _remote,
    ...config
  } = seal ? openChannel(seal, record) : record.config
  return {
    code: record.code,
    contact: record.contactId,
    ...(record.alias !== null && { alias: record.alias }),
    ...(record.calendar && { calendar: record.calendar }),
    ...(record.keep && { keep: record.keep }),
    ...(record.maxOpenedMegabytes && { maxOpenedMegabytes: record.maxOpenedMegabytes }),
    ...(record.automation !== null && { automation: record.automation as PlatformChannel['automation'] }), // written by apply alone
    ...config,
  }
}
