// Where the page says that something is wrong: the first such place, as one reads.

/** Id of a form's notice about what the node refused without naming a field. */
export const REFUSAL_ID = 'refusal'

/** Brings the first of these elements into view and puts the focus there, or on the first control inside it. */
export function goToFirst(ids: readonly string[]): void {
  const [first] = ids
    .flatMap((id) => document.getElementById(id) ?? [])
    .sort((a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1))
  if (!first) return
  const control = first.matches('input, select, textarea, [tabindex]')
    ? first
    : first.querySelector<HTMLElement>('input, select, textarea, button')
  first.scrollIntoView({ block: 'center' })
  control?.focus({ preventScroll: true })
}
