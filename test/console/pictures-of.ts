// Pictures of pages, where they are asked for: ESCLUSA_PICTURES names the folder (tools/screenshots.ts sets it).

import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'

export const PICTURES = process.env.ESCLUSA_PICTURES

/** A film: pictures in a folder of their own, numbered. Does nothing where none is asked for. */
export function pictureTaker(film: string): (page: Page, name: string) => Promise<void> {
  if (!PICTURES) return async () => {}
  const folder = join(PICTURES, film)
  rmSync(folder, { recursive: true, force: true })
  let nth = 0
  return (page, name) => takePicture(page, folder, `${String(++nth).padStart(2, '0')}-${name}`)
}

export async function takePicture(page: Page, folder: string, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  // Words that something was done would hide what it led to.
  await page.evaluate(async () => {
    await document.fonts.ready
    document
      .querySelector<HTMLElement>('.mantine-Notifications-root')
      ?.style.setProperty('visibility', 'hidden')
  })
  const path = join(folder, `${name.replaceAll(/[^\w-]/g, '-')}.png`)
  await page.screenshot({ path, animations: 'disabled' })
}
