// The partners: their channels, codes, addresses and people. This is personal data: users who may not see it are told
// so.

import type { Contact } from '../../../sdk/index.ts'
import { Anchor, Button, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { IconLock, IconMail, IconPhone } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { useFormats, useWords } from '../i18n/language.tsx'
import { Facts } from '../parts/facts.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Pager } from '../parts/pager.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { given, useUrlFilter } from '../parts/url-filter.ts'
import { useSession } from '../session/session.tsx'

const SIZE = 10
const CHANNELS_SHOWN = 8

export default function ContactsPage() {
  const words = useWords()
  const { rights } = useSession()
  return (
    <Stack gap="lg">
      <PageTitle text={words.contacts.title} />
      {rights.may('listContacts') ? (
        <ContactList />
      ) : (
        <Empty
          icon={<IconLock size={28} stroke={1.5} />}
          title={words.contacts.forbidden}
          help={words.contacts.forbiddenHelp}
        />
      )}
    </Stack>
  )
}

function ContactList() {
  const words = useWords()
  const formats = useFormats()
  const { client } = useSession()
  const filter = useUrlFilter()
  const input = { contactId: filter.get('contact'), page: filter.page, size: SIZE }
  const { data, error, refetch } = useQuery({
    queryKey: ['contacts', input],
    queryFn: ({ signal }) => client.listContacts(given(input), { signal }),
    placeholderData: keepPreviousData,
  })
  if (error && !data) return <Failed error={error} again={() => void refetch()} />
  if (!data) return <Loading />
  if (data.totalElements === 0) return <Empty title={words.contacts.none} help={words.contacts.noneHelp} />
  return (
    <>
      <div className="row-head">
        <Text fz="sm" c="dimmed" role="status">
          {words.contacts.found(formats.number(data.totalElements))}
        </Text>
        {!filter.isEmpty && (
          <Button variant="subtle" size="xs" onClick={filter.clear}>
            {words.channels.clear}
          </Button>
        )}
      </div>
      {data.content.map((contact) => (
        <ContactCard key={contact.id} contact={contact} />
      ))}
      <Pager page={data.number} pages={data.totalPages} go={filter.go} />
    </>
  )
}

function ContactCard({ contact }: { contact: Contact }) {
  const words = useWords()
  const { channels = [], remoteCodes = [], remoteIPs = [], contactInfo = [] } = contact
  return (
    <Paper component="article" withBorder radius="md" p="lg" aria-label={contact.name ?? contact.id}>
      <div className="row-head">
        <Title order={2} fz="h2">
          {contact.name ?? contact.id}
        </Title>
        <Text fz="sm" c="dimmed" className="code">
          {contact.id}
        </Text>
      </div>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="xl" mt="md">
        <div>
          <Facts
            facts={[
              [
                words.contacts.codes,
                remoteCodes.map(({ code, name }) => [code, name].filter(Boolean).join(' · ')).join(', '),
              ],
              [
                words.contacts.addresses,
                remoteIPs
                  .map(({ ipAddress, port }) =>
                    port ? `${ipAddress} (${words.contacts.port(String(port))})` : ipAddress,
                  )
                  .join(', '),
              ],
              [words.contacts.software, contact.version],
              [words.contacts.system, contact.os],
            ]}
          />
          <Channels contactId={contact.id ?? ''} codes={channels} />
        </div>
        <People people={contactInfo} />
      </SimpleGrid>
    </Paper>
  )
}

function Channels({ contactId, codes }: { contactId: string; codes: readonly string[] }) {
  const words = useWords()
  const formats = useFormats()
  return (
    <>
      <Title order={3} fz="sm" mt="md" mb={4}>
        {words.contacts.channels}
      </Title>
      <ul className="tags">
        {codes.slice(0, CHANNELS_SHOWN).map((code) => (
          <li key={code}>
            <Anchor component={Link} href={`/channels/${code}`} fz="sm" className="code">
              {code}
            </Anchor>
          </li>
        ))}
        {codes.length > CHANNELS_SHOWN && (
          <li>
            <Anchor component={Link} href={`/channels?contact=${encodeURIComponent(contactId)}`} fz="sm">
              {words.contacts.showChannels(formats.number(codes.length))}
            </Anchor>
          </li>
        )}
      </ul>
    </>
  )
}

function People({ people }: { people: NonNullable<Contact['contactInfo']> }) {
  const words = useWords()
  return (
    <div>
      <Title order={3} fz="sm" mb={4}>
        {words.contacts.people}
      </Title>
      {people.length === 0 && (
        <Text fz="sm" c="dimmed">
          {words.contacts.noPeople}
        </Text>
      )}
      <ul className="plain-list">
        {people.map((person) => (
          <li key={person.id}>
            <Text fz="sm" fw={600}>
              {[person.name, person.lastName, person.secondLastName].filter(Boolean).join(' ')}
            </Text>
            {person.ocupation && (
              <Text fz="xs" c="dimmed">
                {person.ocupation}
              </Text>
            )}
            {person.email && (
              <Anchor href={`mailto:${person.email}`} fz="sm" className="with-icon">
                <IconMail size={15} aria-hidden /> {person.email}
              </Anchor>
            )}
            {[person.phone, person.mobile].filter(Boolean).map((number) => (
              <Anchor key={number} href={`tel:${number?.replaceAll(' ', '')}`} fz="sm" className="with-icon">
                <IconPhone size={15} aria-hidden /> {number}
              </Anchor>
            ))}
            {person.address && (
              <Text fz="xs" c="dimmed">
                {person.address}
              </Text>
            )}
          </li>
        ))}
      </ul>
    </div>
  )
}
