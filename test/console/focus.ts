// Where the focus is.

import type { Page } from 'playwright-core'

/** What has the focus is that, by its accessible name or its text. */
export const focusOn = (page: Page, name: string) =>
  page.waitForFunction((wanted) => {
    const { activeElement: element } = document
    return (element?.getAttribute('aria-label') ?? element?.textContent) === wanted
  }, name)
