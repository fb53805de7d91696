// Lo mismo que errors-en.ts, en español.

import type { ErrorCode } from '../../../src/errors.ts'

export const errorsEs: Record<ErrorCode, string> = {
  bad_request: 'La petición no está bien formada.',
  unauthorized: 'Su sesión ya no es válida.',
  forbidden: 'Su rol o un permiso no lo permite.',
  not_found: 'No existe ese canal o esa transferencia.',
  method_not_allowed: 'Eso no se puede hacer aquí.',
  conflict: 'El estado del canal no lo permite ahora.',
  changed_meanwhile: 'Alguien lo ha cambiado desde que usted lo leyó; vuelva a leerlo.',
  too_large: 'La petición es demasiado grande.',
  unsupported_media: 'La petición no tiene la forma debida.',
  too_many: 'Demasiados intentos fallidos; espere un momento.',
  internal: 'El nodo tiene un fallo propio; su registro guarda los detalles.',
  unavailable: 'El nodo se está deteniendo o su base de datos no responde.',
  bad_use: 'Un ajuste del nodo es incorrecto.',
  unreachable: 'El nodo no responde.',
  connect_failed:
    'No hay conexión con el interlocutor. Compruebe su dirección y que su sistema funciona, y reintente.',
  connection_lost: 'Se cortó la conexión con el interlocutor. Reintentar suele bastar.',
  timed_out: 'El interlocutor no respondió a tiempo. Reintente, o dele más tiempo en la configuración.',
  remote_busy: 'El interlocutor pidió volver a intentarlo más tarde.',
  remote_refused: 'El interlocutor rechazó el fichero o la sesión. Pregúntele por qué.',
  login_refused:
    'Un extremo no acepta la identidad del otro. Compare contraseñas y claves con el interlocutor.',
  host_key_mismatch:
    'La clave del servidor del interlocutor no es la esperada. No reintente hasta que confirme la nueva clave.',
  insecure_session: 'La sesión sería menos segura de lo que el canal exige.',
  protocol_violation: 'El sistema del interlocutor incumplió el protocolo.',
  hash_mismatch: 'Lo que llegó no es lo que se envió. Reintente; si se repite, revise la línea.',
  receipt_negative: 'El interlocutor dice que el fichero no se pudo entregar.',
  receipt_late: 'El acuse del interlocutor no llegó a tiempo.',
  file_missing: 'Un fichero por enviar ya no está.',
  file_changed: 'Un fichero cambió mientras se enviaba. Envíelo de nuevo.',
  file_refused: 'Un fichero no encaja en el canal: su formato, su grupo o un duplicado.',
  duplicate_file: 'El fichero ya se había recibido.',
  bad_signature: 'La firma falta o no es válida; el fichero queda en cuarentena.',
  bad_envelope:
    'Un fichero cifrado, firmado o comprimido no se puede abrir. Compare las claves con el interlocutor.',
  name_taken: 'Ya existe un fichero con ese nombre y no debe sobrescribirse.',
  no_space: 'El disco está lleno. Haga sitio y reintente.',
  disk_fault:
    'Un disco da un error, o hay demasiados ficheros abiertos. Revise el disco y el límite de ficheros abiertos, y reintente.',
  no_rights: 'El nodo no puede leer o escribir ahí. Dele permisos y reintente.',
  script_failed: 'Un script de integración falló o tardó demasiado. Su salida dice más.',
  cancelled: 'La transferencia se detuvo por un reinicio del canal.',
  restored:
    'La plataforma se restauró desde una copia; no se sabe qué fue de la transferencia desde entonces.',
  damaged: 'Una copia de seguridad está dañada o incompleta.',
  lease_lost: 'Otro nodo se hizo cargo de la transferencia.',
}
