// What each page of the table shows, and its sign in the menu. A page is loaded when it is first opened.

import type { Icon } from '@tabler/icons-react'
import {
  IconAddressBook,
  IconAlertTriangle,
  IconArrowsExchange,
  IconFiles,
  IconLayoutDashboard,
  IconUser,
} from '@tabler/icons-react'
import { lazy } from 'react'
import type { ReactNode } from 'react'
import type { PageName } from './pages.ts'

const OverviewPage = lazy(() => import('./pages/overview.tsx'))
const ChannelsPage = lazy(() => import('./pages/channels.tsx'))
const ChannelPage = lazy(() => import('./pages/channel.tsx'))
const TransferPage = lazy(() => import('./pages/transfer.tsx'))
const TransfersPage = lazy(() => import('./pages/transfers.tsx'))
const FailuresPage = lazy(() => import('./pages/failures.tsx'))
const ContactsPage = lazy(() => import('./pages/contacts.tsx'))
const AccountPage = lazy(() => import('./pages/account.tsx'))

type Parameters = Record<string, string | undefined>
type View = { icon: Icon; show(parameters: Parameters): ReactNode }

export const VIEWS: Record<PageName, View> = {
  overview: { icon: IconLayoutDashboard, show: () => <OverviewPage /> },
  channels: { icon: IconArrowsExchange, show: () => <ChannelsPage /> },
  transfer: {
    icon: IconFiles,
    show: ({ code = '', id = '' }) => <TransferPage key={id} code={code} id={id} />,
  },
  channel: {
    icon: IconArrowsExchange,
    show: ({ code = '', tab = 'summary' }) => <ChannelPage key={code} code={code} tab={tab} />,
  },
  transfers: { icon: IconFiles, show: () => <TransfersPage /> },
  failures: { icon: IconAlertTriangle, show: () => <FailuresPage /> },
  contacts: { icon: IconAddressBook, show: () => <ContactsPage /> },
  account: { icon: IconUser, show: () => <AccountPage /> },
}
