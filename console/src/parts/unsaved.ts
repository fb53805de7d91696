// Leaving a form with changes that are not saved asks first: for links and tabs of the console, for signing out, for back
// and forward, and for closing the browser's tab.

import { useEffect } from 'react'
import { useWords } from '../i18n/language.tsx'
import { askBeforeLeaving } from './leaving.ts'

const LEAVES = 'a[href], [role=tab], [data-leaves]'
const HERE = '[download], [href^="#"], [target=_blank]'

/** What is downloaded, opened elsewhere or only scrolled to leaves the form as it is. */
function staysHere(way: Element, { ctrlKey, metaKey, shiftKey, button }: MouseEvent): boolean {
  if (!way.matches('a[href]')) return false
  return ctrlKey || metaKey || shiftKey || button !== 0 || way.matches(HERE)
}

export function useUnsaved(changed: boolean, question?: string): void {
  const { admin } = useWords()
  const leave = question ?? admin.leave
  useEffect(() => {
    if (!changed) return undefined
    const closing = (event: BeforeUnloadEvent) => event.preventDefault()
    const clicked = (event: MouseEvent) => {
      const way = event.target instanceof Element ? event.target.closest(LEAVES) : null
      if (!way || staysHere(way, event) || confirm(leave)) return
      event.preventDefault()
      // Neither the way nor whoever else would ask.
      event.stopImmediatePropagation()
    }
    const stopAsking = askBeforeLeaving(() => confirm(leave))
    addEventListener('beforeunload', closing)
    document.addEventListener('click', clicked, true)
    return () => {
      removeEventListener('beforeunload', closing)
      stopAsking()
      document.removeEventListener('click', clicked, true)
    }
  }, [changed, leave])
}
