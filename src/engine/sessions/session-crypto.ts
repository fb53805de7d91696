// The work with keys that sessions need, done by the CMS transforms: the transports do not know them.

import { randomBytes } from 'node:crypto'
import { NodeError } from '../../errors.ts'
import { decryptBuffer, encryptBuffer, signBuffer, verifyBuffer } from '../transforms/cms/messages.ts'
import type { CmsPolicy } from '../transforms/cms/policy.ts'
import type { SessionCrypto } from '../transports/oftp2/settings.ts'

export const makeSessionCrypto = (policy?: CmsPolicy): SessionCrypto => ({
  encryptChallenge: (partnerPem, challenge) =>
    encryptBuffer(challenge, { certificateOrPublicKeyPem: partnerPem, cipher: 'AES-256-CBC', policy }),
  // A challenge that we cannot open gets a wrong answer instead of an error, so a caller learns nothing from it.
  decryptChallenge: (ownPem, enveloped) =>
    decryptBuffer(enveloped, { privateKeyPem: ownPem }).catch(() => randomBytes(20)),
  signReceipt: (ownPem, content, digest) =>
    signBuffer(content, {
      privateKeyPem: ownPem,
      digest,
      includeCertificate: false,
    }),
  signatureFault: async (partnerPem, signature, content) => {
    try {
      await verifyBuffer(signature, {
        certificateOrPublicKeyPem: partnerPem,
        detachedContent: content,
        // Its digest is the one that this end has announced with the file.
        policy: policy && { ...policy, leastDigest: 'SHA-1' },
      })
      return undefined
    } catch (thrown) {
      if (thrown instanceof NodeError) return thrown.message
      throw thrown
    }
  },
})
