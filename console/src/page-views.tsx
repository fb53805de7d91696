// What each page of the table shows, and its sign in the menu. A page is loaded when it is first opened.

import type { Icon } from '@tabler/icons-react'
import {
  IconAddressBook,
  IconAlertTriangle,
  IconArrowsExchange,
  IconBell,
  IconBuildingBank,
  IconCalendar,
  IconCertificate,
  IconClockCheck,
  IconFileSettings,
  IconFiles,
  IconKey,
  IconLayoutDashboard,
  IconListCheck,
  IconPlugConnected,
  IconShieldX,
  IconUser,
  IconUsers,
} from '@tabler/icons-react'
import { lazy } from 'react'
import type { ReactNode } from 'react'
import type { KindName } from './admin/kinds.ts'
import type { PageName } from './pages.ts'

const OverviewPage = lazy(() => import('./pages/overview.tsx'))
const ChannelsPage = lazy(() => import('./pages/channels.tsx'))
const ChannelPage = lazy(() => import('./pages/channel.tsx'))
const TransferPage = lazy(() => import('./pages/transfer.tsx'))
const TransfersPage = lazy(() => import('./pages/transfers.tsx'))
const FailuresPage = lazy(() => import('./pages/failures.tsx'))
const QuarantinePage = lazy(() => import('./pages/quarantine.tsx'))
const KeysPage = lazy(() => import('./pages/keys.tsx'))
const KeyListPage = lazy(() => import('./pages/key-list.tsx'))
const NewPartnerPage = lazy(() => import('./pages/new-partner.tsx'))
const ContactsPage = lazy(() => import('./pages/contacts.tsx'))
const NewChannelPage = lazy(() => import('./pages/channel-new.tsx'))
const TokensPage = lazy(() => import('./pages/tokens.tsx'))
const AuditPage = lazy(() => import('./pages/audit.tsx'))
const PlatformFilePage = lazy(() => import('./pages/platform-file.tsx'))
const ThingsPage = lazy(() => import('./admin/list.tsx'))
const ThingFormPage = lazy(() => import('./admin/form.tsx'))
const AccountPage = lazy(() => import('./pages/account.tsx'))

type Parameters = Record<string, string | undefined>
type View = { icon: Icon; show(parameters: Parameters): ReactNode }

function things(name: KindName, icon: Icon): View {
  return { icon, show: () => <ThingsPage key={name} name={name} /> }
}

/** The form of a kind: of one that is there, or of a new one. */
export function thingForm(name: KindName, id: string | undefined): ReactNode {
  return <ThingFormPage key={`${name} ${id ?? ''}`} name={name} id={id} />
}

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
  quarantine: { icon: IconShieldX, show: () => <QuarantinePage /> },
  keys: { icon: IconKey, show: () => <KeysPage /> },
  keyList: { icon: IconCertificate, show: () => <KeyListPage /> },
  newPartner: { icon: IconPlugConnected, show: () => <NewPartnerPage /> },
  contacts: { icon: IconAddressBook, show: () => <ContactsPage /> },
  newChannel: { icon: IconArrowsExchange, show: () => <NewChannelPage /> },
  users: things('users', IconUsers),
  entities: things('entities', IconBuildingBank),
  partners: things('partners', IconPlugConnected),
  calendars: things('calendars', IconCalendar),
  subscriptions: things('subscriptions', IconBell),
  expectations: things('expectations', IconClockCheck),
  tokens: { icon: IconKey, show: () => <TokensPage /> },
  audit: { icon: IconListCheck, show: () => <AuditPage /> },
  platformFile: { icon: IconFileSettings, show: () => <PlatformFilePage /> },
  account: { icon: IconUser, show: () => <AccountPage /> },
}
