// Every page of the console: where it is, what one must be allowed to call so that it is offered, and whether it stands
// in the menu. Routes, menu and tests are made from this table.

import type { AnyOperation } from './session/rights.ts'

type Page = { path: string; needs: readonly AnyOperation[]; inMenu: boolean }

export const PAGES = {
  overview: { path: '/', needs: [], inMenu: true },
  channels: { path: '/channels', needs: [], inMenu: true },
  transfer: { path: '/channels/:code/transfers/:id', needs: ['transferDetail'], inMenu: false },
  channel: { path: '/channels/:code/:tab?', needs: [], inMenu: false },
  transfers: { path: '/transfers', needs: ['searchTransfers'], inMenu: true },
  failures: { path: '/failures', needs: ['failedTransfers'], inMenu: true },
  contacts: { path: '/contacts', needs: [], inMenu: true },
  account: { path: '/account', needs: ['listOwnSessions'], inMenu: false },
} as const satisfies Record<string, Page>

export type PageName = keyof typeof PAGES
export const PAGE_NAMES = Object.keys(PAGES) as PageName[]

export function isOffered(name: PageName, may: (operation: AnyOperation) => boolean): boolean {
  return PAGES[name].needs.every(may)
}
