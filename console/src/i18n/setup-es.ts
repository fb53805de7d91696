// Subidas, prueba de conexión, alta de un interlocutor y claves en uso, en español.

import type { Words } from './en.ts'

export const uploadsEs: Words['uploads'] = {
  button: 'Subir y enviar',
  title: 'Subir ficheros para enviarlos',
  text: 'Van al directorio de salida del canal. Lo que se enviaría se muestra antes de salir.',
  files: 'Ficheros',
  go: 'Subir',
  stop: 'Detener la subida',
  cancelled: 'La subida se detuvo. El nodo no ha guardado nada del fichero que estaba en curso.',
  failed: 'No se ha subido',
  progress: 'Subida',
  nth: (number, count) => `fichero ${number} de ${count}`,
  done: (count) => (count === '1' ? 'El fichero está en el nodo' : `${count} ficheros están en el nodo`),
}
