// How tests fill and save the console's forms, by keyboard.

import type { Locator, Page } from 'playwright-core'

/** A button that still waits for its last answer takes no key. */
export const press = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, disabled: false }).press('Enter')

/**
 * In a dialog, which takes the focus a moment after it is there: a key that comes before goes to another of its buttons. Of
 * two with one name the last, which is the one with the word on it.
 */
export async function pressIn(dialog: Locator, name: string | RegExp): Promise<void> {
  await dialog.locator(':focus').waitFor()
  await dialog.getByRole('button', { name, exact: true, disabled: false }).last().press('Enter')
}

export async function save(page: Page, line: string | RegExp): Promise<void> {
  await press(page, 'Review changes')
  const dialog = page.getByRole('dialog', { name: 'What will change' })
  await dialog.getByText(line).waitFor()
  await pressIn(dialog, 'Save')
  await dialog.waitFor({ state: 'detached' })
}

export async function fill(page: Page, values: Record<string, string>): Promise<void> {
  for (const [label, value] of Object.entries(values)) {
    const named = { name: label, exact: true }
    const control = page
      .getByRole('textbox', named)
      .or(page.getByRole('combobox', named))
      .or(page.getByLabel(label, { exact: true }))
    if (await control.first().evaluate((element) => element.tagName === 'SELECT'))
      await control.first().selectOption(value)
    else await control.first().fill(value)
  }
}
