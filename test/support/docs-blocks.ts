// The fenced blocks of the docs, and the commands among them as one shell program a page.
//
//   ```sh                        is run
//   ```sh (not run: why)         is not, and says why
//   ```console                   lines after "$ " are run; one whose first line of output begins with "esclusa: " must fail
//   ```yaml, first line # NAME   is written to the file NAME, for the commands after it

import { readFileSync } from 'node:fs'
import { fromRoot } from '../../src/root.ts'

export type Block = { page: string; line: number; language: string; remark: string; text: string }

export function blocksOf(page: string): Block[] {
  const text = readFileSync(fromRoot(page), 'utf8')
  return [...text.matchAll(/^```(\S*) *(.*)\n([^]*?)^```$/gm)].map((found) => {
    const [, language = '', remark = '', body = ''] = found
    return { page, line: text.slice(0, found.index).split('\n').length, language, remark, text: body }
  })
}

export const isCommands = ({ language }: Block) => language === 'sh' || language === 'console'
export const isRun = (block: Block) => isCommands(block) && block.remark === ''

/** `place` stands for the folders of the machine that operators' commands name. */
export function programOf(blocks: readonly Block[], place: string): string {
  return blocks
    .flatMap((block) => {
      const text = isRun(block) ? (block.language === 'sh' ? block.text : sessionOf(block)) : fileOf(block)
      return text === undefined ? [] : [`at='${block.page}:${block.line}'\n${inPlace(text, place)}`]
    })
    .join('\n')
}

function inPlace(text: string, place: string): string {
  return text
    .replaceAll(/(?<![\w./$}])\/(?=(backup|srv|var\/lib\/esclusa|etc\/esclusa|tmp)\b)/g, `${place}/`)
    .replaceAll('npm start &', 'systemctl start esclusa')
}

function fileOf({ language, text }: Block): string | undefined {
  const name = language === 'yaml' ? /^# (\S+\.yaml)\n/.exec(text)?.[1] : undefined
  return name === undefined ? undefined : `cat > ${name} <<'END OF FILE'\n${text}END OF FILE\n`
}

function sessionOf({ text }: Block): string {
  const [, ...commands] = text.split(/^\$ /m)
  return commands
    .map((one) => {
      const [command = '', output = ''] = one.split('\n')
      return output.startsWith('esclusa: ') ? `if ${command}; then must_fail; fi` : command
    })
    .join('\n')
}
