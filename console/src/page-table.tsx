// Every page of the console: where it is, who may see it, and whether it stands in the menu. Routes, menu and tests are
// made from this table. A page is loaded when it is first opened.

import type { Icon } from '@tabler/icons-react'
import {
  IconAddressBook,
  IconAlertTriangle,
  IconArrowsExchange,
  IconLayoutDashboard,
} from '@tabler/icons-react'
import { lazy } from 'react'
import type { ReactNode } from 'react'
import type { Words } from './i18n/en.ts'
import type { AnyOperation } from './session/rights.ts'

const OverviewPage = lazy(() => import('./pages/overview.tsx'))
const ChannelsPage = lazy(() => import('./pages/channels.tsx'))
const ChannelPage = lazy(() => import('./pages/channel.tsx'))
const TransferPage = lazy(() => import('./pages/transfer.tsx'))
const FailuresPage = lazy(() => import('./pages/failures.tsx'))
const ContactsPage = lazy(() => import('./pages/contacts.tsx'))
const AccountPage = lazy(() => import('./pages/account.tsx'))

export type PageEntry = {
  path: string
  /** What the user must be allowed to call, so that the page is offered. */
  needs: readonly AnyOperation[]
  menu?: { label: keyof Words['menu']; icon: Icon }
  show(parameters: Record<string, string | undefined>): ReactNode
}

export const PAGES: readonly PageEntry[] = [
  {
    path: '/',
    needs: [],
    menu: { label: 'overview', icon: IconLayoutDashboard },
    show: () => <OverviewPage />,
  },
  {
    path: '/channels',
    needs: [],
    menu: { label: 'channels', icon: IconArrowsExchange },
    show: () => <ChannelsPage />,
  },
  {
    path: '/channels/:code/transfers/:id',
    needs: ['transferDetail'],
    show: ({ code = '', id = '' }) => <TransferPage key={id} code={code} id={id} />,
  },
  {
    path: '/channels/:code/:tab?',
    needs: [],
    show: ({ code = '', tab = 'summary' }) => <ChannelPage key={code} code={code} tab={tab} />,
  },
  {
    path: '/failures',
    needs: ['failedTransfers'],
    menu: { label: 'failures', icon: IconAlertTriangle },
    show: () => <FailuresPage />,
  },
  {
    path: '/contacts',
    needs: [],
    menu: { label: 'contacts', icon: IconAddressBook },
    show: () => <ContactsPage />,
  },
  { path: '/account', needs: ['listOwnSessions'], show: () => <AccountPage /> },
]
