// What a channel's field counts as where it is not set, by JSON pointer. The engine reads its own from here, the console
// shows all of them.

/** Seconds; 0 counts as not set. */
export const TIMEOUT_SECONDS = { connect: 30, sync: 60, ack: 120 } as const

const CONNECTION = '/connection/advancedConfigurationConnection'
const TRANSMISSION = '/connection/advancedConfigurationTransmission'

export const CHANNEL_DEFAULTS: Readonly<Record<string, string>> = {
  '/direction': 'BIDIRECCIONAL',
  '/deactivateChannel': 'false',
  '/svcff': 'false',
  '/emissionff': 'false',
  '/receptionff': 'false',
  '/keyExchangeChannel': 'false',
  '/allowSendDuplicateFiles': 'false',
  '/validationHashFiles': 'false',
  '/emission/active': 'true',
  '/emission/direction': 'BIDIRECCIONAL',
  '/reception/active': 'true',
  '/reception/direction': 'BIDIRECCIONAL',
  [`${CONNECTION}/callingEnd`]: 'INDISTINTO',
  [`${CONNECTION}/desconnection`]: 'false',
  [`${CONNECTION}/timeout`]: String(TIMEOUT_SECONDS.connect),
  [`${CONNECTION}/retries`]: '0',
  [`${CONNECTION}/rotations`]: 'false',
  [`${CONNECTION}/validateIp`]: 'false',
  [`${TRANSMISSION}/crc`]: 'false',
  [`${TRANSMISSION}/stampLength`]: '0',
  [`${TRANSMISSION}/timeoutSync`]: String(TIMEOUT_SECONDS.sync),
  [`${TRANSMISSION}/timeoutAck`]: String(TIMEOUT_SECONDS.ack),
  [`${TRANSMISSION}/compression`]: 'NO',
  [`${TRANSMISSION}/downloadConf`]: 'false',
  '/directories/*/direction': 'BIDIRECCIONAL',
  '/directories/*/compression': 'false',
  '/directories/*/fileFormat': 'BINARIO',
  '/directories/*/delimitator': 'NINGUNO',
  '/directories/*/registerLength': '0',
  '/directories/*/translateStatus': 'false',
  '/integrations/postReceptionAction': 'RECEPTION_NO',
  '/integrations/postReceptionRename': 'false',
  '/integrations/postEmisionAction': 'EMISION_NO',
  '/integrations/postEmisionRename': 'false',
  '/security/cryptography': 'false',
  '/security/ciphrate': 'NO',
  '/security/confidentiality': 'AES-256-CBC',
}
