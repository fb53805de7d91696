// Back and forward while a form has changes that are not saved. Loaded with the first script, so that it hears of them before
// whatever shows another page.

let guard: { here: string; mayLeave(): boolean } | undefined

/** Asks before back and forward leave this address. Returns what stops asking. */
export function askBeforeLeaving(mayLeave: () => boolean): () => void {
  const own = { here: page(location.href), mayLeave }
  guard = own
  return () => {
    if (guard === own) guard = undefined
  }
}

/** A place on the same page is no other address. */
function page(href: string): string {
  return href.replace(/#.*$/, '')
}

addEventListener('popstate', (event) => {
  if (!guard || page(location.href) === guard.here || guard.mayLeave()) return
  // The address has moved already: it goes back, and the page never hears of it.
  event.stopImmediatePropagation()
  history.pushState(null, '', guard.here)
})
