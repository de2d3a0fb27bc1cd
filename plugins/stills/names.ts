/** Files below the address of a broadcast or a film. */
export const thumbnailName = 'thumbnail.jpg';
export const storyboardName = 'storyboard.jpg';
export const cuesName = 'storyboard.vtt';
