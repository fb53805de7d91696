// Every page of the console: where it is, what one must be allowed to call so that it is offered, and where it stands in
// the menu. Routes, menu and tests are made from this table.

import { KIND_NAMES, KINDS } from './admin/kinds.ts'
import type { KindName } from './admin/kinds.ts'
import type { AnyOperation } from './session/rights.ts'

type Page = { path: string; needs: readonly AnyOperation[]; menu?: 'main' | 'administration' }

const THINGS: Record<KindName, Page> = {
  users: { path: KINDS.users.path, needs: ['listUsers'], menu: 'administration' },
  entities: { path: KINDS.entities.path, needs: ['listEntities'], menu: 'administration' },
  partners: { path: KINDS.partners.path, needs: ['searchContacts'], menu: 'administration' },
  calendars: { path: KINDS.calendars.path, needs: ['putCalendar'], menu: 'administration' },
  subscriptions: { path: KINDS.subscriptions.path, needs: ['listSubscriptions'], menu: 'administration' },
  expectations: { path: KINDS.expectations.path, needs: ['expectationRules'], menu: 'administration' },
}

export const PAGES = {
  overview: { path: '/', needs: [], menu: 'main' },
  channels: { path: '/channels', needs: [], menu: 'main' },
  newChannel: { path: '/channels/new', needs: ['createChannel'] },
  transfer: { path: '/channels/:code/transfers/:id', needs: ['transferDetail'] },
  channel: { path: '/channels/:code/:tab?', needs: [] },
  transfers: { path: '/transfers', needs: ['searchTransfers'], menu: 'main' },
  failures: { path: '/failures', needs: ['failedTransfers'], menu: 'main' },
  quarantine: { path: '/quarantine', needs: ['listQuarantine'], menu: 'main' },
  keys: { path: '/proposed-keys', needs: ['listProposedKeys'], menu: 'main' },
  keyList: { path: '/keys', needs: ['listKeys'], menu: 'main' },
  contacts: { path: '/contacts', needs: [], menu: 'main' },
  newPartner: {
    path: '/partners/step-by-step',
    needs: ['applyPlatformFile', 'testContact', 'generateChannelKey'],
  },
  ...THINGS,
  tokens: { path: '/tokens', needs: ['listTokens'], menu: 'administration' },
  audit: { path: '/audit', needs: ['auditTrail'], menu: 'administration' },
  platformFile: { path: '/platform-file', needs: ['applyPlatformFile'], menu: 'administration' },
  account: { path: '/account', needs: ['listOwnSessions'] },
} satisfies Record<string, Page>

export type PageName = keyof typeof PAGES
const TABLE: Record<PageName, Page> = PAGES
export const PAGE_NAMES = Object.keys(PAGES) as PageName[]

type May = (operation: AnyOperation) => boolean

export function isOffered(name: PageName, may: May): boolean {
  return TABLE[name].needs.every(may)
}

export function inMenu(menu: Page['menu'], may: May): PageName[] {
  return PAGE_NAMES.filter((name) => TABLE[name].menu === menu && isOffered(name, may))
}

/** Forms of the kinds: to make one, and to change one. */
export const FORMS = KIND_NAMES.map((name) => ({
  name,
  create: { path: `${KINDS[name].path}/new`, needs: KINDS[name].may.create },
  change: { path: `${KINDS[name].path}/edit/:id`, needs: KINDS[name].may.change },
}))
