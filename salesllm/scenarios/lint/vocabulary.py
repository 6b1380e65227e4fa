"""Common words for what a category sells, besides the nouns of the catalogue."""

from __future__ import annotations

from functools import cache

from salesllm.dialogue import Language

_PET = "Pet_Supplies"
_BABY = "Baby_Products"
_HOME = "Home_and_Kitchen Patio_Lawn_and_Garden Tools_and_Home_Improvement Appliances"
_OFFICE = "Office_Products Electronics Industrial_and_Scientific"
_DIGITAL = "Electronics Cell_Phones_and_Accessories Office_Products Video_Games"
_WEAR = "Clothing_Shoes_and_Jewelry Amazon_Fashion Handmade_Products Sports_and_Outdoors"
_BEAUTY = "All_Beauty Beauty_and_Personal_Care Health_and_Personal_Care Health_and_Household"
_FOOD = "Grocery_and_Gourmet_Food Subscription_Boxes"
_MUSIC = "Musical_Instruments"
_CAR = "Automotive"

_WORDS: dict[str, tuple[str, str]] = {
    _PET: (
        "狗窝 猫窝 猫粮 狗粮 猫砂 猫爬架 狗笼 猫包 狗绳 宠物零食",
        "kennel catnip leash birdcage",
    ),
    _BABY: ("推车 婴儿车 奶瓶 奶嘴 纸尿裤 尿不湿 婴儿床 奶粉", "stroller pram diaper nappy crib"),
    _HOME: (
        "沙发 床垫 炒锅 电钻 割草机 空调 微波炉",
        "sofa mattress wok drill mower microwave",
    ),
    _OFFICE: ("打印机 墨盒 硒鼓 打印纸", "printer cartridge toner"),
    _DIGITAL: ("耳机 键盘 鼠标 充电器 数据线 手机壳", "headphone earbud keyboard charger"),
    _WEAR: ("运动鞋 连衣裙 羽绒服 衬衫 牛仔裤 项链", "sneaker dress shirt jeans necklace"),
    _BEAUTY: ("口红 面膜 洗发水 面霜 牙刷", "lipstick shampoo moisturiser toothbrush"),
    _FOOD: ("茶叶 咖啡豆 坚果 蜂蜜 牛肉干", "honey biscuit olive"),
    _MUSIC: ("吉他 钢琴 小提琴", "guitar piano violin"),
    _CAR: ("轮胎 机油 脚垫 行车记录仪", "tyre tire dashcam"),
}


@cache
def words(language: Language) -> dict[str, set[str]]:
    """Every word, and the categories that may sell it."""
    found: dict[str, set[str]] = {}
    for categories, (zh, en) in _WORDS.items():
        for word in (zh if language == "zh" else en).split():
            found.setdefault(word, set()).update(categories.split())
    return found
