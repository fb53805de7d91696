// Starts the console. Style elements that the component library writes carry the page's nonce, without which the
// page's Content-Security-Policy would not let them in.

import { MantineProvider } from '@mantine/core'
import { ModalsProvider } from '@mantine/modals'
import { Notifications } from '@mantine/notifications'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './mantine-styles.ts'
import './console.css'
import { App } from './app.tsx'
import { LanguageProvider } from './i18n/language.tsx'
import { SessionProvider } from './session/session.tsx'
import { resolveVariables, theme } from './theme.ts'

const nonce = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? ''
// Read by the scroll lock that dialogs use, when it writes its style element.
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
