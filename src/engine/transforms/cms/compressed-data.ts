// CMS CompressedData (RFC 3274): zlib around content of any length, written as open-ended BER and read in any form.

import { NodeError } from '../../../errors.ts'
import { deflate, inflate, type CompressOptions } from '../gzip.ts'
import type { OutputLimit } from '../output-limit.ts'
import { blocks, runSteps, type Step } from '../step.ts'
import { AlgorithmIdentifier } from '@peculiar/asn1-x509'
import { OID } from './algorithms.ts'
import { BerReader, parseAs, segment, type Fail } from './ber.ts'
import * as der from './der.ts'

const fail: Fail = (what, cause) =>
  new NodeError('bad_envelope', `the compressed message does not open: ${what}`, { cause })

export function compress(options: CompressOptions = {}): Step {
  return async function* compressed(source) {
    yield Buffer.concat([
      der.openEnded(der.TAG.sequence),
      der.oid(OID.compressedData),
      der.openEnded(der.TAG.contextConstructed(0)),
      der.openEnded(der.TAG.sequence),
      der.integer(0),
      der.algorithm(OID.zlib),
      der.openEnded(der.TAG.sequence),
      der.oid(OID.data),
      der.openEnded(der.TAG.contextConstructed(0)),
      der.openEnded(der.TAG.octetStringSegmented),
    ])
    for await (const block of blocks(runSteps(source, [deflate(options)]))) yield segment(block)
    // octet string, explicit [0], content info, compressed data, explicit [0], content info
    yield der.closeEnded(6)
  }
}

export function decompress(limit: OutputLimit = {}): Step {
  return async function* decompressed(source) {
    const reader = new BerReader(source, fail)
    try {
      await openCompressedData(reader)
      yield* runSteps(reader.octets(der.TAG.octetString, 'the compressed content'), [inflate(limit)])
      // explicit [0], content info, compressed data, explicit [0], content info
      for (let level = 0; level < 5; level++) await reader.leave()
      await reader.finish()
    } finally {
      await reader.close()
    }
  }
}

async function openCompressedData(reader: BerReader): Promise<void> {
  await reader.enter(der.TAG.sequence, 'the CMS message')
  const type = await reader.oid('the content type')
  if (type !== OID.compressedData) throw fail('the message is not compressed')
  await reader.enter(der.TAG.contextConstructed(0), 'the compressed data')
  await reader.enter(der.TAG.sequence, 'the compressed data')
  await reader.element(der.TAG.integer, 'the version', 16)
  const bytes = await reader.element(der.TAG.sequence, 'the compression algorithm', 256)
  const { algorithm } = parseAs(bytes, AlgorithmIdentifier, fail, 'the compression algorithm')
  if (algorithm !== OID.zlib) throw fail(`its compression ${algorithm} is not supported`)
  await reader.enter(der.TAG.sequence, 'the content info')
  await reader.oid('the content type')
  await reader.enter(der.TAG.contextConstructed(0), 'the compressed content')
}
