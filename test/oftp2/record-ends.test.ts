// Ends of record inside files of the formats U and T. RFC 5024, 7.2: "Unstructured files are transmitted as a single record;
// in this case, the flag acts as an end-of-file marker." 1.5.3: a text's lines are delimited by CR-LF.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { waitFor } from '../support/harness.ts'
import { SAMPLES, TrialPartner } from '../support/oftp2/partner.ts'
import { callBank, startCalledBank } from '../attacks/partner.ts'

/** Stream transmission header, D, then two sub-records with the end-of-record flag: `hello` and `world`. */
const TWO_RECORDS = Buffer.from('10000011 44 85 68656c6c6f 85 776f726c64'.replaceAll(' ', ''), 'hex')

test('ends of record inside a text are its lines, and inside unstructured data a protocol violation', async (t) => {
  const bank = await startCalledBank(t, 'oftp2')
  const directory = (application: string, fileFormat: 'HIBRIDO' | 'BINARIO') => ({
    direction: 'BIDIRECCIONAL' as const,
    directories: [
      {
        direction: 'RECEPCION' as const,
        filePath: join(bank.files, application, 'in'),
        fileFormat,
        ...(fileFormat === 'HIBRIDO' && { delimitator: 'UNIX' as const }),
      },
    ],
  })
  await bank.apply({}, { TEXT: directory('TEXT', 'HIBRIDO'), BYTES: directory('BYTES', 'BINARIO') })
  const offer = async (application: string, format: 'T' | 'U') => {
    const partner = await callBank(t, bank.port)
    assert.ok(partner instanceof TrialPartner)
    const ids = { originator: 'ACME', destination: 'BANCO', user: application, dataset: `A${format}` }
    partner.say({ ...SAMPLES.SFID, ...ids, format, description: 'lines.txt' })
    await partner.expect('SFPA')
    return partner.sayOctets(TWO_RECORDS)
  }
  const text = await offer('TEXT', 'T')
  text.say({ kind: 'EFID', records: 0n, octets: 10n })
  await text.expect('EFPA')
  const path = join(bank.files, 'TEXT', 'in', 'lines.txt')
  const arrived = await waitFor('the text', () => readFile(path, 'utf8').catch(() => undefined))
  assert.equal(arrived, 'hello\nworld\n')

  const bytes = await offer('BYTES', 'U')
  const last = await bytes.lastWord()
  assert.deepEqual([last?.reason, last?.text], ['02', 'data behind the end of an unstructured file'])
  assert.deepEqual(await bank.received('BYTES'), [])
})
