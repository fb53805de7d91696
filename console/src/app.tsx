// The frame around every page: navigation on the left, the page on the right. A page is loaded when it is first opened.

import { AppShell, Burger, Group, NavLink, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import {
  IconAddressBook,
  IconAlertTriangle,
  IconArrowsExchange,
  IconLayoutDashboard,
  IconLogout,
} from '@tabler/icons-react'
import { lazy, Suspense, useEffect } from 'react'
import { Link, Route, Router, Switch, useLocation } from 'wouter'
import { useWords } from './i18n/language.tsx'
import { LiveProvider } from './live/live.tsx'
import { LiveDot } from './live/live-dot.tsx'
import { Logo } from './parts/logo.tsx'
import { LanguageChoice, ThemeChoice } from './parts/preferences.tsx'
import { Loading, NotFound } from './parts/states.tsx'
import { ExpiryWarning } from './session/expiry-warning.tsx'
import { useSession } from './session/session.tsx'

const OverviewPage = lazy(() => import('./pages/overview.tsx'))
const ChannelsPage = lazy(() => import('./pages/channels.tsx'))
const ChannelPage = lazy(() => import('./pages/channel.tsx'))
const TransferPage = lazy(() => import('./pages/transfer.tsx'))
const FailuresPage = lazy(() => import('./pages/failures.tsx'))
const ContactsPage = lazy(() => import('./pages/contacts.tsx'))

export function App() {
  return (
    <LiveProvider>
      <Router base="/console">
        <Frame />
      </Router>
    </LiveProvider>
  )
}

function Frame() {
  const words = useWords()
  const [opened, { toggle, close }] = useDisclosure()
  const [location] = useLocation()
  useEffect(close, [location, close])
  return (
    <AppShell
      header={{ height: { base: 56, sm: 0 } }}
      navbar={{ width: 248, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding={{ base: 'md', sm: 'xl' }}
    >
      <a className="skip" href="#main">
        {words.app.skip}
      </a>
      <AppShell.Header hiddenFrom="sm" px="md">
        <Group h="100%" justify="space-between">
          <Brand />
          <Burger
            opened={opened}
            onClick={toggle}
            size="sm"
            aria-label={words.app.menu}
            aria-expanded={opened}
          />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="md" aria-label={words.app.navigation}>
        <Navigation location={location} />
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        <div className="page">
          <ExpiryWarning />
          <Suspense fallback={<Loading />}>
            <Switch>
              <Route path="/" component={OverviewPage} />
              <Route path="/channels" component={ChannelsPage} />
              <Route path="/channels/:code/transfers/:id">
                {({ code, id }) => <TransferPage key={id} code={code} id={id} />}
              </Route>
              <Route path="/channels/:code/:tab?">
                {({ code, tab }) => <ChannelPage key={code} code={code} tab={tab ?? 'summary'} />}
              </Route>
              <Route path="/failures" component={FailuresPage} />
              <Route path="/contacts" component={ContactsPage} />
              <Route component={NotFound} />
            </Switch>
          </Suspense>
        </div>
      </AppShell.Main>
    </AppShell>
  )
}

function Brand() {
  const words = useWords()
  return (
    <Group gap="sm" wrap="nowrap">
      <Logo size={30} />
      <Text fw={700} fz="lg">
        {words.app.name}
      </Text>
    </Group>
  )
}

function Navigation({ location }: { location: string }) {
  const words = useWords()
  const { user, rights, signOut } = useSession()
  const items = [
    { path: '/', label: words.app.overview, icon: IconLayoutDashboard, shown: true },
    { path: '/channels', label: words.app.channels, icon: IconArrowsExchange, shown: true },
    {
      path: '/failures',
      label: words.app.failures,
      icon: IconAlertTriangle,
      shown: rights.may('listTransfers'),
    },
    { path: '/contacts', label: words.app.contacts, icon: IconAddressBook, shown: true },
  ]
  const isAt = (path: string) => (path === '/' ? location === '/' : location.startsWith(path))
  return (
    <>
      <AppShell.Section visibleFrom="sm" mb="lg" px="xs">
        <Brand />
      </AppShell.Section>
      <AppShell.Section grow>
        {items
          .filter(({ shown }) => shown)
          .map(({ path, label, icon: Icon }) => (
            <NavLink
              key={path}
              component={Link}
              href={path}
              label={label}
              active={isAt(path)}
              aria-current={isAt(path) ? 'page' : undefined}
              leftSection={<Icon size={20} stroke={1.7} aria-hidden />}
            />
          ))}
      </AppShell.Section>
      <AppShell.Section>
        <Stack gap="sm">
          <LiveDot />
          <LanguageChoice />
          <ThemeChoice />
          <div className="who">
            <div className="who-name">
              <Text fz="sm" fw={600} truncate>
                {[user.name, user.lastName].filter(Boolean).join(' ') || user.username}
              </Text>
              <Text fz="xs" c="dimmed" truncate>
                {words.roles[user.role]}
              </Text>
            </div>
            <button
              type="button"
              className="icon-button"
              onClick={signOut}
              aria-label={words.app.signOut}
              title={words.app.signOut}
            >
              <IconLogout size={20} stroke={1.7} aria-hidden />
            </button>
          </div>
        </Stack>
      </AppShell.Section>
    </>
  )
}
