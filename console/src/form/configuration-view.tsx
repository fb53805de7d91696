// The whole configuration to read: groups, names in words, what each field does.

import type { Channel } from '../../../sdk/index.ts'
import { Stack, Text, Title } from '@mantine/core'
import { useWords } from '../i18n/language.tsx'
import { Panel } from '../parts/panel.tsx'
import { useSession } from '../session/session.tsx'
import { toText, valueAt } from './draft.ts'
import { useFieldWords } from './field-words.ts'
import { DIRECTORY_FIELDS, GROUPS, isSecret } from './schema.ts'
import type { GroupName } from './schema.ts'

export function ConfigurationView({ channel }: { channel: Channel }) {
  const words = useWords()
  const { groups } = words.config
  const directories = channel.directories ?? []
  return (
    <Stack gap="lg">
      {(Object.keys(GROUPS) as GroupName[]).map((group) => (
        <Panel key={group} title={groups[group]} note={groups[`${group}Help`]}>
          {group === 'directories' &&
            directories.map((_, index) => (
              <section key={index} className="directory">
                <Title order={3} fz="sm" mb="xs">
                  {words.config.directory(index + 1)}
                </Title>
                <FieldList
                  channel={channel}
                  pointers={DIRECTORY_FIELDS.map((name) => `/directories/${index}/${name}`)}
                />
              </section>
            ))}
          <FieldList channel={channel} pointers={GROUPS[group]} />
        </Panel>
      ))}
    </Stack>
  )
}

function FieldList({ channel, pointers }: { channel: Channel; pointers: readonly string[] }) {
  const field = useFieldWords()
  return (
    <dl className="config">
      {pointers.map((pointer) => (
        <div key={pointer}>
          <dt>
            {field.label(pointer)}
            <Text component="span" fz="xs" c="dimmed" display="block">
              {field.help(pointer)}
            </Text>
          </dt>
          <dd>
            {isSecret(pointer) ? (
              <Secret channel={channel} pointer={pointer} />
            ) : (
              <Value channel={channel} pointer={pointer} />
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Value({ channel, pointer }: { channel: Channel; pointer: string }) {
  const field = useFieldWords()
  const text = toText(valueAt(channel, pointer))
  const lines = text.split('\n').map((line) => field.value(pointer, line))
  return (
    <span className={text === '' ? 'unset' : 'words'}>
      {lines.map((line) => (
        <span key={line} className="line">
          {line}
        </span>
      ))}
    </span>
  )
}

function Secret({ channel, pointer }: { channel: Channel; pointer: string }) {
  const words = useWords()
  const { rights } = useSession()
  if (!rights.seesSecrets) return <span className="unset">{words.config.secretUnseen}</span>
  const isSet = valueAt(channel, pointer) !== undefined
  return (
    <span className={isSet ? undefined : 'unset'}>{isSet ? words.config.secretSet : words.app.unset}</span>
  )
}
