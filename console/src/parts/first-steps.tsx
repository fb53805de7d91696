// What to do on a platform that is still empty; only for who may do it.

import { useWords } from '../i18n/language.tsx'
import { useSession } from '../session/session.tsx'
import { Panel } from './panel.tsx'

export function FirstSteps() {
  const words = useWords()
  const { rights } = useSession()
  if (!rights.may('createChannel')) return null
  return (
    <Panel title={words.firstRun.stepsTitle}>
      <ol className="first-steps">
        {words.firstRun.steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
    </Panel>
  )
}
