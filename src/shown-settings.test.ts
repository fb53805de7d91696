import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig, SECRET_SETTINGS, SETTINGS } from './config.ts'
import { shownSettings } from './shown-settings.ts'

test('of every secret setting a fingerprint is shown, and its value nowhere', () => {
  const values = Object.values(SECRET_SETTINGS).map(
    ([name]) => [name, `${name} ${'s3cret'.repeat(11)}`] as const,
  )
  const config = readConfig(Object.fromEntries(values))
  const shown = shownSettings(config, (secret) => `print of ${secret.split(' ')[0]}`)
  for (const [field, [name]] of Object.entries(SECRET_SETTINGS))
    assert.equal(shown[field], `print of ${name}`)
  assert.ok(!JSON.stringify(shown).includes('s3cret'))
})

test('a setting that is called a secret is one', () => {
  const called = Object.keys(SETTINGS).filter((name) => /SECRET|TOKEN|PASSWORD|(?<!TLS_)KEY/.test(name))
  const secret: string[] = Object.values(SECRET_SETTINGS).map(([name]) => name)
  assert.deepEqual(
    called.filter((name) => !secret.includes(name)),
    [],
  )
})

test('an address is shown without user, password and query', () => {
  const shown = (settings: Record<string, string>) => shownSettings(readConfig(settings), () => 'print')
  const database = (url: string) => shown({ ESCLUSA_DATABASE_URL: url }).databaseUrl
  assert.equal(database('postgres://db/x?user=u&password=s3cret'), 'postgres://db/x?…')
  assert.equal(database('postgresql://u:s3cret@db:5433/x?sslpassword=s3cret'), 'postgresql://db:5433/x?…')
  assert.equal(database('postgres://s3cret@[::1]/x'), 'postgres://[::1]/x')
  // One that cannot be taken apart, here for its several hosts, might hold them anywhere.
  assert.equal(database('postgres://u:s3cret@one:1,two:2/x'), 'postgres://…')
  const others = shown({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector:4318/v1?api-key=s3cret#s3cret',
    ESCLUSA_PUBLIC_URL: 'https://esclusa.example/console',
    ESCLUSA_SMTP_URL: 'smtp://u:s3cret@mail.example:587',
    ESCLUSA_MAIL_FROM: 'Esclusa <esclusa@banco.example>',
  })
  const { otlpEndpoint, publicUrl, smtpUrl, mailFrom } = others
  assert.deepEqual(
    [otlpEndpoint, publicUrl, smtpUrl, mailFrom],
    [
      'https://collector:4318/v1?…',
      'https://esclusa.example/console',
      'smtp://mail.example:587',
      'Esclusa <esclusa@banco.example>',
    ],
  )
})
