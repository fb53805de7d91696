// Leaving a form with changes that are not saved asks first: for links of the console, for back, and for closing the tab.

import { useEffect } from 'react'
import { useWords } from '../i18n/language.tsx'

export function useUnsaved(changed: boolean): void {
  const { leave } = useWords().admin
  useEffect(() => {
    if (!changed) return undefined
    const closing = (event: BeforeUnloadEvent) => event.preventDefault()
    const clicked = (event: MouseEvent) => {
      const link = event.target instanceof Element ? event.target.closest('a[href]') : null
      if (!link || link.getAttribute('target') === '_blank' || confirm(leave)) return
      event.preventDefault()
      event.stopPropagation()
    }
    addEventListener('beforeunload', closing)
    document.addEventListener('click', clicked, true)
    return () => {
      removeEventListener('beforeunload', closing)
      document.removeEventListener('click', clicked, true)
    }
  }, [changed, leave])
}
