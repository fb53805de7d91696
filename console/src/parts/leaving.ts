// Back and forward while a form has changes that are not saved. Loaded with the first script, so that it hears of them before
// whatever shows another page.

type Guard = { here: string; mayLeave(): boolean }

/** A form, and an upload over it: each asks for itself, and the end of one leaves the other. */
const guards = new Set<Guard>()

/** Asks before back and forward leave this address. Returns what stops asking. */
export function askBeforeLeaving(mayLeave: () => boolean): () => void {
  const own = { here: page(location.href), mayLeave }
  guards.add(own)
  return () => void guards.delete(own)
}

/** A place on the same page is no other address. */
function page(href: string): string {
  return href.replace(/#.*$/, '')
}

addEventListener('popstate', (event) => {
  const now = page(location.href)
  const stays = [...guards].find(({ here, mayLeave }) => now !== here && !mayLeave())
  if (!stays) return
  // The address has moved already: it goes back, and the page never hears of it.
  event.stopImmediatePropagation()
  history.pushState(null, '', stays.here)
})
