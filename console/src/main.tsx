// Starts the console. The component library's style elements get the page's nonce. Without it the page's
// Content-Security-Policy would refuse them.

import { MantineProvider } from '@mantine/core'
import { ModalsProvider } from '@mantine/modals'
import { Notifications } from '@mantine/notifications'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './mantine-styles.ts'
import './console.css'
import './parts/double-click.ts'
import './parts/leaving.ts'
import { App } from './app.tsx'
import { LanguageProvider } from './i18n/language.tsx'
import { SessionProvider } from './session/session.tsx'
import { resolveVariables, theme } from './theme.ts'

const nonce = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? ''
// The scroll lock of dialogs reads this for its style element.
Object.assign(globalThis, { __webpack_nonce__: nonce })

const root = document.getElementById('root')
if (root)
  createRoot(root).render(
    <StrictMode>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={resolveVariables}
        defaultColorScheme="auto"
        getStyleNonce={() => nonce}
      >
        <LanguageProvider>
          <Notifications position="bottom-right" />
          <SessionProvider>
            <ModalsProvider>
              <App />
            </ModalsProvider>
          </SessionProvider>
        </LanguageProvider>
      </MantineProvider>
    </StrictMode>,
  )
