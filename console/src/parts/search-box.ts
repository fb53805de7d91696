// A search box that searches a moment after the last key, not at each one.

import { useEffect, useState } from 'react'
import type { ChangeEvent } from 'react'
import type { UrlFilter } from './url-filter.ts'

const WAIT_MS = 250

export function useSearchBox(filter: UrlFilter, name = 'search') {
  const asked = filter.get(name) ?? ''
  const [text, setText] = useState(asked)
  const [shown, setShown] = useState(asked)
  // The address was changed in another way (back, a cleared filter): the box follows.
  if (asked !== shown) {
    setShown(asked)
    setText(asked)
  }
  useEffect(() => {
    if (text.trim() === asked) return undefined
    const timer = setTimeout(() => filter.set({ [name]: text.trim() || undefined }), WAIT_MS)
    return () => clearTimeout(timer)
    // The filter object is new at each render; what it writes to, the address of that moment, is not.
  }, [text, asked]) // eslint-disable-line react-hooks/exhaustive-deps
  return {
    type: 'search' as const,
    value: text,
    onChange: (event: ChangeEvent<HTMLInputElement>) => setText(event.currentTarget.value),
  }
}
