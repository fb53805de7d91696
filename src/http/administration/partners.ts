// Local entities and contacts read and changed. Secrets are never shown: only which of them are set.

import { makePage } from '../../contract/page.ts'
import type {
  ContactFacts,
  ContactSummary,
  LocalEntityFacts,
} from '../../contract/administration/partners.ts'
import { toPlatformContact } from '../../platform/contact-record.ts'
import type { Present } from '../../platform/plan.ts'
import type { View } from '../../store/channel-access.ts'
import { findContact, listContacts, listLocalEntities } from '../../store/contacts.ts'
import type { ContactRecord, LocalEntity } from '../../store/contacts.ts'
import type { Context } from '../context.ts'
import { askedPage } from '../integration/paging.ts'
import type { PlatformHandler, PlatformHandlers } from '../platform/handler.ts'
import { showTag, tagOf } from '../revision.ts'
import { wordsOf } from '../words.ts'
import { changePlatform, current, requireNew, requireThere } from './change.ts'

// Local entities

const listEntities: PlatformHandler<'listEntities'> = async (context, { input, user }) => {
  const words = wordsOf(input.search ?? '')
  const asked = askedPage(context, input)
  const { countByEntity } = await context.channelAccess(context.store.db, user)
  const all = (await listLocalEntities(context.store.db)).filter(({ code, name }) =>
    words.every((word) => `${code}\n${name}`.toLowerCase().includes(word)),
  )
  const some = all.slice(asked.offset, asked.offset + asked.size)
  return makePage(
    some.map((entity) => entityToWire(entity, countByEntity.get(entity.code) ?? 0)),
    all.length,
    asked,
  )
}

const readEntity: PlatformHandler<'readEntity'> = async (context, { input, user, reply }) => {
  const entities = await listLocalEntities(context.store.db)
  const entity = requireThere(
    entities.find(({ code }) => code === input.code),
    `local entity ${input.code}`,
  )
  showTag(reply, tagOf(entity))
  const { countByEntity } = await context.channelAccess(context.store.db, user)
  return entityToWire(entity, countByEntity.get(entity.code) ?? 0)
}

const createEntity: PlatformHandler<'createEntity'> = (context, call) => {
  const { code } = call.body
  return changePlatform(context, call, {
    put: { localEntities: [call.body] },
    onlyChannels: [],
    forbid: (present) => requireNew(entityOf(present, code), `local entity ${code}`),
  })
}

const changeEntity: PlatformHandler<'changeEntity'> = (context, call) => {
  const { code } = call.input
  return changePlatform(context, call, {
    put: { localEntities: [{ code, ...call.body }] },
    // Its channels must lie inside the file roots it gets.
    onlyChannels: call.body.fileRoots === undefined ? [] : { localCode: code },
    forbid: (present) => void current(call, present, (all) => entityOf(all, code), `local entity ${code}`),
  })
}

const removeEntity: PlatformHandler<'removeEntity'> = (context, call) => {
  const { code } = call.input
  return changePlatform(context, call, {
    remove: { entities: [code] },
    onlyChannels: { localCode: code },
    forbid: (present) => void current(call, present, (all) => entityOf(all, code), `local entity ${code}`),
  })
}

function entityOf({ entities }: Present, code: string): LocalEntity | undefined {
  return entities.find((one) => one.code === code)
}

function entityToWire({ code, name, oftp2Id, fileRoots }: LocalEntity, channels: number): LocalEntityFacts {
  return {
    code,
    name,
    ...(oftp2Id !== null && { oftp2: { id: oftp2Id } }),
    ...(fileRoots && { fileRoots: [...fileRoots] }),
    channels,
  }
}

// Contacts

type Listed = { summary: ContactSummary; text: string }
const listed = new WeakMap<View, readonly Listed[]>()

/** Kept until a contact or a channel changes. Administrators alone call this: they reach every channel. */
async function listedFor({ store }: Context, view: View): Promise<readonly Listed[]> {
  let all = listed.get(view)
  if (!all) {
    all = (await listContacts(store.db))
      .map((contact) => {
        const summary = summaryOf(contact, view.codesByContact.get(contact.id)?.length ?? 0)
        const { id, name = '', remoteCodes, addresses, protocol } = summary
        return { summary, text: [id, name, protocol, ...remoteCodes, ...addresses].join('\n').toLowerCase() }
      })
      .sort((a, b) => (a.summary.id < b.summary.id ? -1 : 1))
    listed.set(view, all)
  }
  return all
}

const searchContacts: PlatformHandler<'searchContacts'> = async (context, { input, user }) => {
  const words = wordsOf(input.search ?? '')
  const asked = askedPage(context, input)
  const all = await listedFor(context, await context.channelAccess(context.store.db, user))
  const found =
    words.length === 0 ? all : all.filter(({ text }) => words.every((word) => text.includes(word)))
  const some = found.slice(asked.offset, asked.offset + asked.size)
  return makePage(
    some.map(({ summary }) => summary),
    found.length,
    asked,
  )
}

const readContact: PlatformHandler<'readContact'> = async (context, { input, user, reply }) => {
  const contact = requireThere(
    await findContact(context.store.db, input.contactId),
    `contact ${input.contactId}`,
  )
  showTag(reply, tagOf(contact))
  const view = await context.channelAccess(context.store.db, user)
  return contactToWire(contact, view.codesByContact.get(contact.id) ?? [])
}

const createContact: PlatformHandler<'createContact'> = (context, call) => {
  const { id } = call.body
  return changePlatform(context, call, {
    put: { contacts: [call.body] },
    onlyChannels: [],
    forbid: (present) => requireNew(contactOf(present, id), `contact ${id}`),
  })
}

const changeContact: PlatformHandler<'changeContact'> = (context, call) => {
  const id = call.input.contactId
  return changePlatform(context, call, {
    put: { contacts: [{ ...call.body, id }] },
    onlyChannels: { contactId: id },
    forbid: (present) => void current(call, present, (all) => contactOf(all, id), `contact ${id}`),
  })
}

const removeContact: PlatformHandler<'removeContact'> = (context, call) => {
  const id = call.input.contactId
  return changePlatform(context, call, {
    remove: { contacts: [id] },
    onlyChannels: { contactId: id },
    forbid: (present) => void current(call, present, (all) => contactOf(all, id), `contact ${id}`),
  })
}

function contactOf({ contacts }: Present, id: string): ContactRecord | undefined {
  return contacts.find((one) => one.id === id)
}

function summaryOf({ id, protocol, data, settings }: ContactRecord, channels: number): ContactSummary {
  const addresses = (data.remoteIPs ?? []).flatMap(({ ipAddress, port }) => {
    if (ipAddress === undefined || port === undefined) return ipAddress ?? []
    return ipAddress.includes(':') ? `[${ipAddress}]:${port}` : `${ipAddress}:${port}`
  })
  const weCall =
    protocol === 'folder' || (protocol === 'oftp2' ? addresses.length > 0 : Boolean(settings.sftp))
  const partnerCalls = protocol === 'oftp2' || (protocol === 'sftp' && Boolean(settings.access))
  return {
    id,
    ...(data.name !== undefined && { name: data.name }),
    protocol,
    remoteCodes: (data.remoteCodes ?? []).flatMap(({ code }) => code ?? []),
    addresses,
    channels,
    calledBy: weCall ? (partnerCalls ? 'BOTH' : 'US') : partnerCalls ? 'PARTNER' : 'NOBODY',
  }
}

function contactToWire(contact: ContactRecord, channels: readonly string[]): ContactFacts {
  const { contactInfo: _people, ...shown } = toPlatformContact(contact, undefined)
  return { ...shown, secrets: Object.keys(contact.secrets).sort(), channels: [...channels] }
}

export const partnerHandlers = {
  listEntities,
  readEntity,
  createEntity,
  changeEntity,
  removeEntity,
  searchContacts,
  readContact,
  createContact,
  changeContact,
  removeContact,
} satisfies Partial<PlatformHandlers>
