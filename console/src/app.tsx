// The frame around every page: navigation on the left, the page on the right. A page is loaded when it is first opened.

import { Anchor, AppShell, Burger, Group, NavLink, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { modals } from '@mantine/modals'
import { IconLogout } from '@tabler/icons-react'
import { Suspense, useEffect, useRef } from 'react'
import { Link, Route, Router, Switch, useLocation } from 'wouter'
import { useWords } from './i18n/language.tsx'
import { LiveProvider } from './live/live.tsx'
import { ConnectionBar } from './live/connection-bar.tsx'
import { LiveDot } from './live/live-dot.tsx'
import { useKeptFocus } from './parts/kept-focus.ts'
import { Brand } from './parts/logo.tsx'
import { LanguageChoice, ThemeChoice } from './parts/preferences.tsx'
import { FORMS, inMenu, isOffered, PAGE_NAMES, PAGES } from './pages.ts'
import type { PageName } from './pages.ts'
import { thingForm, VIEWS } from './page-views.tsx'
import { ZoneLine } from './parts/zone-line.tsx'
import { Loading, NotFound, NotForYou } from './parts/states.tsx'
import { ExpiryWarning } from './session/expiry-warning.tsx'
import { useSession } from './session/session.tsx'

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
  const { rights } = useSession()
  useEffect(close, [location, close])
  // A question is about the page it was asked on, and for who was asked: neither Back nor another user answers it.
  useEffect(() => modals.closeAll, [location])
  useKeptFocus()
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
        <ConnectionBar />
        <div className="page">
          <ExpiryWarning />
          <Suspense fallback={<Loading />}>
            <Switch>
              {PAGE_NAMES.map((name) => (
                <Route key={name} path={PAGES[name].path}>
                  {(parameters) =>
                    isOffered(name, rights.may) ? VIEWS[name].show(parameters) : <NotForYou />
                  }
                </Route>
              ))}
              {FORMS.flatMap(({ name, create, change }) => [
                <Route key={create.path} path={create.path}>
                  {rights.may(create.needs) ? thingForm(name, undefined) : <NotForYou />}
                </Route>,
                <Route key={change.path} path={change.path}>
                  {({ id = '' }: { id?: string }) =>
                    rights.may(change.needs) ? thingForm(name, id) : <NotForYou />
                  }
                </Route>,
              ])}
              <Route component={NotFound} />
            </Switch>
          </Suspense>
          <ZoneLine />
        </div>
      </AppShell.Main>
    </AppShell>
  )
}

function MenuItem({ name, location }: { name: PageName; location: string }) {
  const words = useWords()
  const { path } = PAGES[name]
  const { icon: Icon } = VIEWS[name]
  const isHere = path === '/' ? location === '/' : location === path || location.startsWith(`${path}/`)
  const item = useRef<HTMLAnchorElement>(null)
  // A low window does not show the whole menu. Its own scrolling leaves alone where Tab goes on from.
  useEffect(() => {
    const menu = item.current?.closest('.menu')
    if (!isHere || !item.current || !menu) return
    const [here, all] = [item.current.getBoundingClientRect(), menu.getBoundingClientRect()]
    if (here.bottom > all.bottom) menu.scrollTop += here.bottom - all.bottom
    else if (here.top < all.top) menu.scrollTop -= all.top - here.top
  }, [isHere])
  return (
    <NavLink
      ref={item}
      component={Link}
      href={path}
      label={words.menu[name]}
      active={isHere}
      aria-current={isHere ? 'page' : undefined}
      leftSection={<Icon size={20} stroke={1.7} aria-hidden />}
    />
  )
}

function Navigation({ location }: { location: string }) {
  const words = useWords()
  const { user, rights, signOut } = useSession()
  const main = inMenu('main', rights.may)
  const administration = inMenu('administration', rights.may)
  return (
    <>
      <AppShell.Section visibleFrom="sm" mb="lg" px="xs">
        <Brand />
      </AppShell.Section>
      <AppShell.Section grow className="menu">
        {main.map((name) => (
          <MenuItem key={name} name={name} location={location} />
        ))}
        {administration.length > 0 && (
          <Text fz="xs" c="dimmed" fw={600} mt="md" mb={4} px="sm">
            {words.menu.administration}
          </Text>
        )}
        {administration.map((name) => (
          <MenuItem key={name} name={name} location={location} />
        ))}
      </AppShell.Section>
      <AppShell.Section>
        <Stack gap="sm">
          <LiveDot />
          <LanguageChoice />
          <ThemeChoice />
          <div className="who">
            <div className="who-name">
              <Anchor
                component={Link}
                href="/account"
                display="block"
                fz="sm"
                fw={600}
                truncate
                title={words.menu.account}
              >
                {[user.name, user.lastName].filter(Boolean).join(' ') || user.username}
              </Anchor>
              <Text fz="xs" c="dimmed" truncate>
                {words.roles[user.role]}
              </Text>
            </div>
            <button
              type="button"
              className="icon-button"
              onClick={signOut}
              data-leaves
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
