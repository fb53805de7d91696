// Channels made, copied and removed, and what the interface does not show of them.

import { SECRET_FIELDS } from '../../contract/channel.ts'
import type { ChannelSetup } from '../../contract/administration/channels.ts'
import type { PlatformChannel } from '../../contract/administration/platform-file.ts'
import { unknownUsers } from '../../domain/channel-rules.ts'
import { parseCode } from '../../domain/channel.ts'
import { toPlatformChannel } from '../../platform/channel-record.ts'
import type { Present } from '../../platform/plan.ts'
import { usernamesAmong } from '../../store/accounts.ts'
import { findChannel } from '../../store/channels.ts'
import type { ChannelRecord } from '../../store/channels.ts'
import { findContact } from '../../store/contacts.ts'
import type { ContactRecord } from '../../store/contacts.ts'
import type { Context } from '../context.ts'
import { checkReach, reachChannel } from '../guard.ts'
import { changedMeanwhile, channelTag, requireMatch, showTag } from '../revision.ts'
import type { PlatformHandler, PlatformHandlers } from '../platform/handler.ts'
import { automaticPauseOf } from '../platform/waiting.ts'
import { changePlatform, requireNew, requireThere } from './change.ts'
import type { ChangeCall } from './change.ts'

const channelSetup: PlatformHandler<'channelSetup'> = async (context, { input, user, reply }) => {
  const channel = await reachChannel(context, user, input.channelCode)
  showTag(reply, channelTag(channel))
  const contact = await findContact(context.store.db, channel.contactId)
  const automaticPause = await automaticPauseOf(context, user, channel.code)
  return {
    code: channel.code,
    contact: channel.contactId,
    ...(user.auths.contactChannels && contact?.data.name !== undefined && { contactName: contact.data.name }),
    protocol: contact?.protocol ?? 'oftp2',
    ...(channel.alias !== null && { alias: channel.alias }),
    ...(channel.automation && { automation: channel.automation as ChannelSetup['automation'] }), // checked when written
    ...(automaticPause && { automaticPause }),
    ...(channel.keep && { keep: channel.keep }),
    ...(channel.maxOpenedMegabytes && { maxOpenedMegabytes: channel.maxOpenedMegabytes }),
    warnings: contact ? await warningsOf(context, channel, contact) : [],
    revision: channel.revision,
  }
}

/** What the platform file's rules say of it, as it is now. */
async function warningsOf(
  { seal, store }: Context,
  channel: ChannelRecord,
  { protocol, settings }: ContactRecord,
): Promise<string[]> {
  const { carrierOf, knownChannelFindings } = await import('../../platform/protocol-rules.ts')
  const carrier = carrierOf(protocol, settings)
  const { faults, warnings } = knownChannelFindings(toPlatformChannel(channel, seal), carrier)
  const { users } = channel.config
  const unknown = unknownUsers(users, await usernamesAmong(store.db, users))
  return [...faults, ...unknown, ...warnings].map(({ pointer, message }) => `${pointer} ${message}`)
}

const createChannel: PlatformHandler<'createChannel'> = (context, call) => make(context, call, call.body)

const copyChannel: PlatformHandler<'copyChannel'> = async (context, call) => {
  const { channelCode } = call.input
  const { code, contact, secrets = false } = call.body
  const from = requireThere(await findChannel(context.store.db, channelCode), `channel ${channelCode}`)
  return make(context, call, copyOf(context, from, { code, contact, secrets }))
}

/** What names the channel itself is not copied: the parts of its code, and what travels instead of its application. */
function copyOf(
  context: Context,
  from: ChannelRecord,
  { code, contact, secrets }: { code: string; contact: string | undefined; secrets: boolean },
): PlatformChannel {
  const { alias: _alias, ...like } = toPlatformChannel(from, secrets ? context.seal : undefined)
  const isSameRemote = parseCode(code)?.remoteCode === parseCode(from.code)?.remoteCode
  return { ...like, code, contact: contact ?? (isSameRemote ? from.contactId : like.contact) }
}

function make(context: Context, call: ChangeCall, channel: PlatformChannel) {
  return changePlatform(context, call, {
    put: { channels: [channel] },
    onlyChannels: [channel.code],
    forbid: (present) => requireNew(channelOf(present, channel.code), `channel ${channel.code}`),
  })
}

const changeChannelSetup: PlatformHandler<'changeChannelSetup'> = (context, call) => {
  const { contact, ...asked } = call.body
  return rewrite(context, call, (channel) => {
    const { alias: _alias, keep: _keep, maxOpenedMegabytes: _most, ...rest } = channel
    const { alias, keep, maxOpenedMegabytes } = { ...channel, ...asked }
    return {
      ...rest,
      ...(contact !== undefined && { contact }),
      ...(alias && { alias }),
      ...(keep && Object.keys(keep).length > 0 && { keep }),
      ...(maxOpenedMegabytes && { maxOpenedMegabytes }),
    }
  })
}

const setAutomation: PlatformHandler<'setAutomation'> = (context, call) => {
  const { automation } = call.body
  return rewrite(context, call, ({ automation: _before, ...channel }) => ({
    ...channel,
    ...(automation && { automation }),
  }))
}

/** Secrets are left out, and so stay. */
async function rewrite(
  context: Context,
  call: ChangeCall & { input: { channelCode: string } },
  change: (channel: PlatformChannel) => PlatformChannel,
) {
  const code = call.input.channelCode
  const before = await reachChannel(context, call.user, code)
  return changePlatform(context, call, {
    put: { channels: [change(withoutSecrets(toPlatformChannel(before, undefined)))] },
    onlyChannels: [code],
    forbid: (present) => {
      const now = requireThere(channelOf(present, code), `channel ${code}`)
      checkReach(call.user, now)
      requireMatch(call.request, channelTag(now))
      // Built from what was read before the lock: another change in between must not be lost.
      if (now.revision !== before.revision) throw changedMeanwhile()
    },
  })
}

function withoutSecrets({ security, ...channel }: PlatformChannel): PlatformChannel {
  if (!security) return channel
  const shown = Object.entries(security).filter(
    ([name]) => !(SECRET_FIELDS as readonly string[]).includes(name),
  )
  return { ...channel, security: Object.fromEntries(shown) }
}

const removeChannel: PlatformHandler<'removeChannel'> = (context, call) => {
  const code = call.input.channelCode
  return changePlatform(context, call, {
    remove: { channels: [code] },
    onlyChannels: [code],
    forbid: (present) => {
      const channel = requireThere(channelOf(present, code), `channel ${code}`)
      requireMatch(call.request, channelTag(channel))
    },
  })
}

function channelOf({ channels }: Present, code: string): ChannelRecord | undefined {
  return channels.find((one) => one.code === code)
}

export const channelHandlers = {
  channelSetup,
  createChannel,
  copyChannel,
  changeChannelSetup,
  setAutomation,
  removeChannel,
} satisfies Partial<PlatformHandlers>
