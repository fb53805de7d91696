// A choice among what the node has. Where that is more than one list shows, the list says so, and a box narrows it.

import { NativeSelect, Stack, TextInput } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useFormats, useWords } from '../i18n/language.tsx'

type Option = { value: string; label: string }
type Asked = { search?: string; size: number }

const SIZE = 1000

type Props<T> = {
  label: string
  value: string
  set(value: string): void
  queryKey: readonly string[]
  read(asked: Asked, options: { signal: AbortSignal }): Promise<{ content: T[]; totalElements: number }>
  option(item: T): Option
  /** What stands above the list, for nothing chosen. */
  none: string
  /** What stands below it. */
  last?: Option
  required?: boolean
}

export function LongChoice<T>(props: Props<T>) {
  const { label, value, set, queryKey, read, option, none, last, required = false } = props
  const words = useWords()
  const formats = useFormats()
  const [text, setText] = useState('')
  const search = text.trim()
  const asked = { size: SIZE, ...(search && { search }) }
  const { data } = useQuery({
    queryKey: [...queryKey, asked],
    queryFn: ({ signal }) => read(asked, { signal }),
    placeholderData: keepPreviousData,
  })
  const { content = [], totalElements: total = 0 } = data ?? {}
  const options = [...content.map(option), ...(last ? [last] : [])]
  // What was chosen stays there, whatever is looked for.
  if (data && value && !options.some((one) => one.value === value)) options.unshift({ value, label: value })
  const [shown, all] = [formats.number(content.length), formats.number(total)]
  const select = (
    <NativeSelect
      label={label}
      description={content.length < total ? words.newChannel.firstOf(shown, all) : undefined}
      value={value}
      required={required}
      withAsterisk={false}
      onChange={(event) => set(event.currentTarget.value)}
      data={[{ value: '', label: none }, ...options]}
    />
  )
  return (
    <Stack gap="xs">
      {(text !== '' || content.length < total) && (
        <TextInput
          type="search"
          label={words.newChannel.narrow(label)}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      )}
      {select}
    </Stack>
  )
}
