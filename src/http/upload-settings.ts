// What uploads may take, of the node's settings.

import type { UploadSettings } from './context.ts'

const MEGABYTE = 1024 * 1024

type Settings = {
  maxUploadMegabytes: number
  contactQuotaMegabytes: number
  contactQuotaFiles: number
  diskReserveMegabytes: number
}

export function uploadSettings(config: Settings): UploadSettings {
  return {
    mostOctets: config.maxUploadMegabytes * MEGABYTE,
    quotaOctets: config.contactQuotaMegabytes * MEGABYTE,
    quotaFiles: config.contactQuotaFiles,
    diskReserveOctets: config.diskReserveMegabytes * MEGABYTE,
  }
}
