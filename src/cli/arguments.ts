// Values of options that are not just text.

import { InvalidArgumentError } from 'commander'

export function count(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError('It must be a whole number from 1 to 999999999.')
  return Number(text)
}

export function day(text: string): string {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) throw new InvalidArgumentError('It must be a day, yyyy-MM-dd.')
  return text
}
