/** Of this package, as an image and its pages name it. */
import manifest from '../../package.json' with { type: 'json' };

export const VERSION: string = manifest.version;
