// Colours and fonts. Every text colour has a contrast of 4.5 or more on its backgrounds, in both appearances. The
// component library's own greys and reds do not.

import { createTheme, Modal, Table } from '@mantine/core'
import type { CSSVariablesResolver } from '@mantine/core'

export const theme = createTheme({
  primaryColor: 'lock',
  primaryShade: 8,
  colors: {
    lock: [
      '#eaf4fb',
      '#d5e7f4',
      '#a8cfe9',
      '#79b5de',
      '#54a0d5',
      '#3e92d0',
      '#318bce',
      '#2378b6',
      '#17649b',
      '#0f4c75',
    ],
    // The library's dark colours, from text to background, with the same blue as the page.
    dark: [
      '#dde3e9',
      '#c3ccd5',
      '#a4b0bc',
      '#7d8a97',
      '#3a4550',
      '#313b45',
      '#252e37',
      '#1a2129',
      '#151b22',
      '#10151b',
    ],
  },
  defaultRadius: 'md',
  respectReducedMotion: true,
  fontFamily:
    'Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace:
    'ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace',
  headings: { fontWeight: '650', sizes: { h1: { fontSize: '1.6rem' }, h2: { fontSize: '1.1rem' } } },
  cursorType: 'pointer',
  components: {
    Modal: Modal.extend({ defaultProps: { centered: true, radius: 'md' } }),
    Table: Table.extend({ defaultProps: { verticalSpacing: 'sm', horizontalSpacing: 'md' } }),
  },
})

export const resolveVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-body': '#ffffff',
    '--mantine-color-text': '#1c2733',
    '--mantine-color-dimmed': '#56636f',
    '--mantine-color-placeholder': '#66727e',
    '--mantine-color-error': '#b42318',
    '--mantine-color-anchor': '#135a8d',
    '--surface-page': '#f4f6f8',
    '--surface-line': '#dfe4e9',
  },
  dark: {
    '--mantine-color-body': '#1a2129',
    '--mantine-color-text': '#dde3e9',
    '--mantine-color-dimmed': '#a4b0bc',
    '--mantine-color-placeholder': '#98a4b0',
    '--mantine-color-error': '#ff9d94',
    '--mantine-color-anchor': '#7cc0ef',
    '--surface-page': '#12181f',
    '--surface-line': '#303a45',
  },
})
