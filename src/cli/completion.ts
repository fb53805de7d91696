// `esclusa completion SHELL`: a script that completes commands and options at the prompt. It is made from the commands
// themselves, as help is, so it knows what they know.

import type { Command } from 'commander'
import { NodeError } from '../errors.ts'
import { say } from './print.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

/** What may follow the words of a command so far: its commands and its options, each with what it does. */
type Place = { words: string; choices: { word: string; says: string; takesValue: boolean }[] }

export function completion(program: Command, shell: string): void {
  const make = { bash, zsh, fish }[shell]
  if (!make)
    throw new NodeError('bad_use', `there is no completion for "${shell}": ask for ${SHELLS.join(', ')}`)
  say(make(places(program)).trimEnd())
}

function places(command: Command, words = ''): Place[] {
  const options = command.options.flatMap(({ short, long, description, required, optional }) =>
    [long, short].flatMap((word) =>
      word ? [{ word, says: description, takesValue: required || optional }] : [],
    ),
  )
  const commands = command.commands.map((one) => ({
    word: one.name(),
    says: one.description(),
    takesValue: false,
  }))
  const help = words === '' ? [{ word: 'help', says: 'print help for a command', takesValue: false }] : []
  const here = { words, choices: [...commands, ...help, ...options] }
  return [here, ...command.commands.flatMap((one) => places(one, `${words} ${one.name()}`.trim()))]
}

/** In single quotes, for every shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’').replaceAll(/\s+/g, ' ')}'`
}

const listed = ({ choices }: Place) => choices.map(({ word }) => word).join(' ')
const withValues = (all: readonly Place[]) => [
  ...new Set(all.flatMap(({ choices }) => choices.filter((one) => one.takesValue).map(({ word }) => word))),
]

/** What a word does to the place where the line stands, as cases of bash and zsh alike. */
const steps = (all: readonly Place[]) =>
  all
    .filter(({ words }) => words !== '')
    .map(({ words }) => `      ${quoted(words.includes(' ') ? words : ` ${words}`)}) at=${quoted(words)};;`)
    .join('\n')

/** The words before the cursor that are neither options nor their values say where it stands; what is no command is an argument. */
function bash(all: readonly Place[]): string {
  return `# esclusa completion bash: eval "$(esclusa completion bash)"
_esclusa() {
  local word cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} at='' skip='' i
  COMPREPLY=()
  case " ${withValues(all).join(' ')} " in *" $prev "*) COMPREPLY=($(compgen -f -- "$cur")); return;; esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [ -n "$skip" ]; then skip=''; continue; fi
    case " ${withValues(all).join(' ')} " in *" $word "*) skip=1; continue;; esac
    case "$at $word" in
${steps(all)}
    esac
  done
  case "$at" in
${all.map((place) => `    ${quoted(place.words)}) COMPREPLY=($(compgen -W ${quoted(listed(place))} -- "$cur"));;`).join('\n')}
  esac
  if [ \${#COMPREPLY[@]} -eq 0 ]; then COMPREPLY=($(compgen -f -- "$cur")); fi
}
complete -o filenames -F _esclusa esclusa
`
}

function zsh(all: readonly Place[]): string {
  const described = ({ choices }: Place) =>
    choices.map(({ word, says }) => quoted(`${word.replaceAll(':', '\\:')}:${says}`)).join(' ')
  return `#compdef esclusa
# esclusa completion zsh: eval "$(esclusa completion zsh)", after compinit
_esclusa() {
  local word at='' skip='' i
  local -a choices
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    if [[ -n $skip ]]; then skip=''; continue; fi
    case " ${withValues(all).join(' ')} " in *" $word "*) skip=1; continue;; esac
    case "$at $word" in
${steps(all)}
    esac
  done
  if [[ -n $skip ]]; then _files; return; fi
  case "$at" in
${all.map((place) => `    ${quoted(place.words)}) choices=(${described(place)});;`).join('\n')}
  esac
  _describe -t commands esclusa choices || _files
}
compdef _esclusa esclusa
`
}

function fish(all: readonly Place[]): string {
  const lines = all.flatMap(({ words, choices }) =>
    choices.map(({ word, says, takesValue }) => {
      const name = word.startsWith('--')
        ? `-l ${word.slice(2)}`
        : word.startsWith('-')
          ? `-s ${word.slice(1)}`
          : `-f -a ${word}`
      return `complete -c esclusa -n "__esclusa_at ${quoted(words)}" ${name}${takesValue ? ' -r' : ''} -d ${quoted(says)}`
    }),
  )
  return `# esclusa completion fish | source
function __esclusa_at
  set -l at
  set -l skip
  for word in (commandline -opc)[2..-1]
    if test -n "$skip"
      set skip
      continue
    end
    if contains -- $word ${withValues(all).join(' ')}
      set skip 1
      continue
    end
    switch (string join ' ' -- $at $word)
      case ${all
        .filter(({ words }) => words !== '')
        .map(({ words }) => quoted(words))
        .join(' ')}
        set at $at $word
    end
  end
  set -l joined (string join ' ' -- $at)
  test "$joined" = "$argv[1]"
end
${lines.join('\n')}
`
}
