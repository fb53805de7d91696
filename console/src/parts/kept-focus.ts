// What has the focus may go away: with a row that was removed, with the page that a button led away from, with a dialog. The
// focus then goes to the page's heading, or to the dialog that it was in; the browser would begin again at the top, and a
// screen reader would say nothing.

import { useEffect } from 'react'

/** A dialog gives the focus back 10 ms after it has gone, and only if nothing else has it. */
const PATIENCE_MS = 100

const DIALOG = '[aria-modal=true]'

export function useKeptFocus(): void {
  useEffect(() => {
    let last: Element | undefined
    let lastIn: Element | null = null
    let waiting: ReturnType<typeof setTimeout> | undefined
    const focused = ({ target }: FocusEvent) => {
      last = target instanceof Element ? target : undefined
      lastIn = last?.closest(DIALOG) ?? null
    }
    const look = () => {
      if (!last || last.isConnected || document.activeElement !== document.body) return
      const dialogs = [...document.querySelectorAll<HTMLElement>(DIALOG)]
      // The page under a dialog cannot be used. One that is just opening or closing sees to the focus itself.
      const place =
        dialogs.length > 0
          ? dialogs.find((dialog) => dialog === lastIn)
          : // A page that is still being read has no heading yet.
            document.querySelector<HTMLElement>('#main h1')
      place?.focus({ preventScroll: true })
    }
    const changed = new MutationObserver(() => {
      clearTimeout(waiting)
      waiting = setTimeout(look, PATIENCE_MS)
    })
    changed.observe(document.body, { childList: true, subtree: true })
    document.addEventListener('focusin', focused)
    return () => {
      clearTimeout(waiting)
      changed.disconnect()
      document.removeEventListener('focusin', focused)
    }
  }, [])
}
