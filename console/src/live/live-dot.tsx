// Whether what the page shows is live.

import { useWords } from '../i18n/language.tsx'
import { useLive } from './live.tsx'

export function LiveDot() {
  const words = useWords()
  const { state } = useLive()
  const text = { open: words.app.live, connecting: words.app.liveOff, refused: words.app.liveNone }[state]
  return (
    <div className="live" data-state={state} role="status">
      {text}
    </div>
  )
}
