<?php
// For programs without Composer: `require` this file. Composer loads the classes by itself.
spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Holdfast\\') && is_file($file = __DIR__ . '/src/' . substr($class, 9) . '.php')) {
        require $file;
    }
});
