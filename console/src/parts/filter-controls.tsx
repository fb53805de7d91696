// Controls of a list's filters, which stand in the address: choices among values, and days.

import { NativeSelect, TextInput } from '@mantine/core'
import { useWords } from '../i18n/language.tsx'
import type { UrlFilter } from './url-filter.ts'

type Choice = { value: string; label: string }

type SelectProps = {
  filter: UrlFilter
  name: string
  label: string
  /** Of what the address says: undefined for what is no choice. */
  value: string | undefined
  choices: readonly Choice[]
  /** What stands for no filter. */
  all: string
}

export function FilterSelect({ filter, name, label, value, choices, all }: SelectProps) {
  return (
    <NativeSelect
      label={label}
      value={value ?? ''}
      onChange={(event) => filter.set({ [name]: event.currentTarget.value })}
      data={[{ value: '', label: all }, ...choices]}
    />
  )
}

export function labelled<T extends string>(values: readonly T[], labels: Record<T, string>): Choice[] {
  return values.map((value) => ({ value, label: labels[value] }))
}

export function among<T extends string>(values: readonly T[], value: string | undefined): T | undefined {
  return values.find((one) => one === value)
}

/** A day that there is: the parser would take 31 February for one in March. */
function isDay(text: string): boolean {
  const at = new Date(`${text}T00:00:00Z`)
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}

/** The days that the address says; the node is not asked about a first day after the last. */
export function daysOf(filter: UrlFilter) {
  const day = (name: string) => {
    const value = filter.get(name)
    return value !== undefined && isDay(value) ? value : undefined
  }
  const [from, to] = [day('from'), day('to')]
  return { initialDate: from, endDate: to, reversed: from !== undefined && to !== undefined && from > to }
}

export function DayFilters({ filter }: { filter: UrlFilter }) {
  const words = useWords()
  const { initialDate, endDate, reversed } = daysOf(filter)
  const input = (name: string, label: string, value: string | undefined, error?: string) => (
    <TextInput
      type="date"
      label={label}
      value={value ?? ''}
      error={error}
      onChange={(event) => filter.set({ [name]: event.currentTarget.value })}
    />
  )
  return (
    <>
      {input('from', words.transfers.from, initialDate, reversed ? words.transfers.daysFault : undefined)}
      {input('to', words.transfers.to, endDate)}
    </>
  )
}
